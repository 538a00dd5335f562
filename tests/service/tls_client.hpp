#pragma once

#include <openssl/ssl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/service/certificate.hpp"

namespace millpond::test {

/// A TLS client of a port on this machine. All its work is done in receive(), without waiting.
class TlsClient {
public:
    /// own: the certificate that it presents; null for none.
    explicit TlsClient(std::uint16_t port, const Certificate* own = nullptr)
        : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
        if (own != nullptr) {
            SSL_CTX_use_certificate_file(context_.get(), own->certificate.c_str(), SSL_FILETYPE_PEM);
            SSL_CTX_use_PrivateKey_file(context_.get(), own->key.c_str(), SSL_FILETYPE_PEM);
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            throw std::runtime_error("cannot connect");
        }
        fcntl(socket_, F_SETFL, O_NONBLOCK);
        ssl_.reset(SSL_new(context_.get()));
        SSL_set_fd(ssl_.get(), socket_);
        SSL_set_connect_state(ssl_.get());
    }
    ~TlsClient() { close(socket_); }
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    void send_text(std::string_view text) { waiting_ += text; }
    /// The common name in the server's certificate; empty before the handshake.
    [[nodiscard]] std::string peer_name() const {
        const std::unique_ptr<X509, decltype(&X509_free)> shown{SSL_get1_peer_certificate(ssl_.get()), X509_free};
        std::array<char, 256> name{};
        if (shown == nullptr) return {};
        X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName, name.data(), name.size());
        return name.data();
    }
    /// Continues the handshake, sends waiting bytes, and reads available ones.
    void receive() {
        if (over_) return;
        if (!waiting_.empty()) {
            const int sent = SSL_write(ssl_.get(), waiting_.data(), static_cast<int>(waiting_.size()));
            if (sent > 0) waiting_.erase(0, static_cast<std::size_t>(sent));
            if (is_fatal(sent)) return;
        }
        std::array<char, 16'384> buffer;
        for (int got = 1; got > 0;) {
            got = SSL_read(ssl_.get(), buffer.data(), buffer.size());
            if (got > 0) text_.append(buffer.data(), static_cast<std::size_t>(got));
            if (is_fatal(got)) return;
        }
    }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    /// Whether the connection has ended, with or without an error.
    [[nodiscard]] bool over() const noexcept { return over_; }

private:
    bool is_fatal(int result) {
        if (result > 0) return false;
        const int error = SSL_get_error(ssl_.get(), result);
        over_ = error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
        return over_;
    }

    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
    int socket_{-1};
    std::string waiting_;
    std::string text_;
    bool over_{false};
};

}  // namespace millpond::test
