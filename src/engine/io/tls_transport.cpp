#include "src/engine/io/tls_transport.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <millpond/tls/failure.hpp>

namespace millpond::engine {

namespace {

constexpr std::size_t kRecordBytes = std::size_t{16} * 1024;  // maximum content of one TLS record

int socket_of(BIO* bio) noexcept { return static_cast<const core::Descriptor*>(BIO_get_data(bio))->get(); }

// OpenSSL's own socket BIO raises SIGPIPE when it writes to a closed connection; this one returns an error.
int write_to_socket(BIO* bio, const char* bytes, int size) noexcept {
    BIO_clear_retry_flags(bio);
    const auto sent = ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return static_cast<int>(sent);
}

int read_from_socket(BIO* bio, char* bytes, int size) noexcept {
    BIO_clear_retry_flags(bio);
    const auto got = ::recv(socket_of(bio), bytes, static_cast<std::size_t>(size), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    return static_cast<int>(got);
}

long control(BIO* bio, int command, long number, void* pointer) noexcept {
    static_cast<void>(bio), static_cast<void>(number), static_cast<void>(pointer);
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_method() {
    static const auto* const method = [] {
        auto* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "millpond socket");
        BIO_meth_set_write(made, write_to_socket);
        BIO_meth_set_read(made, read_from_socket);
        BIO_meth_set_ctrl(made, control);
        return made;
    }();
    return method;
}

struct FreeText {
    void operator()(unsigned char* text) const noexcept { OPENSSL_free(text); }
};

std::string text_of(const ASN1_STRING* text) {
    unsigned char* utf8 = nullptr;
    const auto size = ASN1_STRING_to_UTF8(&utf8, text);
    const std::unique_ptr<unsigned char, FreeText> owned{utf8};
    return size < 0 ? std::string{} : std::string{reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size)};
}

std::string lower_case(std::string text) {
    for (auto& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

std::string subject_of(const X509& certificate) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out{BIO_new(BIO_s_mem()), BIO_free};
    X509_NAME_print_ex(out.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_RFC2253);
    char* text = nullptr;
    const auto size = BIO_get_mem_data(out.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

std::vector<std::string> names_of(const X509& certificate) {
    std::vector<std::string> names;
    if (auto subject = subject_of(certificate); !subject.empty()) names.push_back(std::move(subject));
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> others{
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)),
        GENERAL_NAMES_free};
    for (int i = 0; i < sk_GENERAL_NAME_num(others.get()); ++i) {
        const auto* const name = sk_GENERAL_NAME_value(others.get(), i);
        if (name->type == GEN_DNS) names.push_back("DNS:" + lower_case(text_of(name->d.dNSName)));
        if (name->type == GEN_URI) names.push_back("URI:" + text_of(name->d.uniformResourceIdentifier));
        if (name->type == GEN_EMAIL) names.push_back("email:" + text_of(name->d.rfc822Name));
        if (name->type != GEN_IPADD) continue;
        std::array<char, INET6_ADDRSTRLEN> text{};
        const auto family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
        const bool is_address = family == AF_INET || ASN1_STRING_length(name->d.iPAddress) == 16;
        if (is_address && ::inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text.data(), text.size())) {
            names.push_back(std::string{"IP:"} + text.data());
        }
    }
    return names;
}

class TlsTransport final : public Transport {
public:
    TlsTransport(SSL_CTX* context, core::Descriptor socket)
        : socket_(std::move(socket)), ssl_(SSL_new(context), SSL_free) {
        auto* const bio = BIO_new(socket_method());
        BIO_set_data(bio, &socket_);
        BIO_set_init(bio, 1);
        SSL_set_bio(ssl_.get(), bio, bio);
    }

    [[nodiscard]] SSL& ssl() noexcept { return *ssl_; }
    int descriptor() const noexcept override { return socket_.get(); }
    bool wants_writable() const noexcept override { return wants_writable_; }
    bool holds_input() const noexcept override { return SSL_pending(ssl_.get()) > 0; }
    // With TLS 1.3 a client learns after its handshake that its certificate was refused.
    bool failed_to_begin() const noexcept override {
        return SSL_is_init_finished(ssl_.get()) == 0 || (failed_ && !received_);
    }
    std::string_view failure() const noexcept override { return failure_; }

    std::vector<std::string> certificate_names() const override {
        const auto* const certificate = SSL_get0_peer_certificate(ssl_.get());
        const bool verified =
            SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE && SSL_get_verify_result(ssl_.get()) == X509_V_OK;
        return certificate != nullptr && verified ? names_of(*certificate) : std::vector<std::string>{};
    }

    Moved receive(std::span<std::byte> into) noexcept override {
        const auto wanted = static_cast<int>(std::min<std::size_t>(into.size(), kRecordBytes));
        const auto result = moved(SSL_read(ssl_.get(), into.data(), wanted));
        received_ = received_ || result.bytes != 0;
        return result;
    }

    // Combines the pieces in one buffer, so that they share a record. After a refused write, the bytes that it has
    // encrypted are at the front of the next one: the pieces are the same then, possibly followed by more.
    Moved send(std::span<const std::string_view> pieces) noexcept override {
        std::size_t filled = 0;
        for (const auto piece : pieces) {
            const auto fits = std::min(piece.size(), scratch_.size() - filled);
            std::memcpy(scratch_.data() + filled, piece.data(), fits);
            filled += fits;
            if (filled == scratch_.size()) break;
        }
        if (refused_ != 0) filled = refused_;
        const auto result = moved(SSL_write(ssl_.get(), scratch_.data(), static_cast<int>(filled)));
        refused_ = result.bytes == 0 ? filled : 0;
        if (result.over) learn_why();
        return result;
    }

    void shut_down() noexcept override {
        if (SSL_is_init_finished(ssl_.get()) == 1) static_cast<void>(SSL_shutdown(ssl_.get()));
        ERR_clear_error();
        ::shutdown(socket_.get(), SHUT_WR);
    }

private:
    /// Reads the peer's alert after a failed write: a peer that refuses us sends an alert and closes the connection,
    /// and our write may fail before the alert was read.
    void learn_why() noexcept {
        if (received_ || failed_ || SSL_is_init_finished(ssl_.get()) == 0) return;
        char byte = 0;
        static_cast<void>(moved(SSL_peek(ssl_.get(), &byte, 1)));
    }
    [[nodiscard]] Moved moved(int result) noexcept {
        wants_writable_ = false;
        if (result > 0) return {static_cast<std::size_t>(result)};
        const auto why = SSL_get_error(ssl_.get(), result);
        if (why == SSL_ERROR_SSL) {
            failed_ = true;
            failure_ = tls::failure_reason(*ssl_, ERR_peek_error());
        } else if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
            failure_ = tls::failure_reason(*ssl_, 0);
        }
        ERR_clear_error();
        wants_writable_ = why == SSL_ERROR_WANT_WRITE;
        return {0, why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE};
    }

    core::Descriptor socket_;
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
    std::array<char, kRecordBytes> scratch_;
    std::size_t refused_{0};  // bytes of a refused write, which OpenSSL requires again
    bool wants_writable_{false};
    bool failed_{false};
    bool received_{false};
    std::string_view failure_{tls::kTimedOut};  // a text with static lifetime
};

}  // namespace

std::unique_ptr<Transport> make_tls_transport(const tls::Context& context, core::Descriptor socket,
                                              const std::string& host) {
    auto transport = std::make_unique<TlsTransport>(context.get(), std::move(socket));
    auto* const ssl = &transport->ssl();
    if (context.role() == tls::Role::server) {
        SSL_set_accept_state(ssl);
        return transport;
    }
    SSL_set_connect_state(ssl);
    const auto& name = context.server_name().empty() ? host : context.server_name();
    auto* const rules = SSL_get0_param(ssl);
    // A name is sent to the server and compared; an address can only be compared.
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) != 1) {
        SSL_set_tlsext_host_name(ssl, name.c_str());
        if (context.verify_peer()) SSL_set1_host(ssl, name.c_str());
    }
    ERR_clear_error();
    return transport;
}

}  // namespace millpond::engine
