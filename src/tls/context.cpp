#include <millpond/tls/context.hpp>

#include <array>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

namespace millpond::tls {
namespace {

/// Ciphers of TLS 1.2 with forward secrecy and authenticated encryption; all ciphers of 1.3 have both.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

[[noreturn]] void fail(const std::string& what, const std::string& reason) {
    throw std::runtime_error("tls: " + what + ": " + reason);
}

/// OpenSSL's message for its latest error, which is cleared.
std::string reason() {
    std::array<char, 256> text{};
    const auto code = ERR_peek_last_error();
    ERR_clear_error();
    if (code == 0) return "no reason given";
    ERR_error_string_n(code, text.data(), text.size());
    return text.data();
}

std::string named(const char* what, const std::string& path) { return std::string{what} + " '" + path + "'"; }

/// Mode of a regular file. OpenSSL would wait for the other end of a pipe.
mode_t mode_of(const char* what, const std::string& path) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) fail(named(what, path), std::generic_category().message(errno));
    if (!S_ISREG(facts.st_mode)) fail(named(what, path), "is not a regular file");
    return facts.st_mode;
}

void require_private(const std::string& key) {
    if ((mode_of("key", key) & (S_IROTH | S_IWOTH)) != 0)
        fail(named("key", key), "any user may read or write it; run: chmod o-rw '" + key + "'");
}

void load_certificate(SSL_CTX* context, const Options& options) {
    static_cast<void>(mode_of("certificate", options.certificate));
    require_private(options.key);
    if (SSL_CTX_use_certificate_chain_file(context, options.certificate.c_str()) != 1)
        fail(named("certificate", options.certificate), reason());
    if (SSL_CTX_use_PrivateKey_file(context, options.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1)
        fail(named("key", options.key), reason());
}

void load_authorities(SSL_CTX* context, Role role, const std::string& path) {
    if (path.empty()) {
        if (SSL_CTX_set_default_verify_paths(context) != 1) fail("authorities of the system", reason());
        return;
    }
    static_cast<void>(mode_of("authorities", path));
    if (SSL_CTX_load_verify_file(context, path.c_str()) != 1) fail(named("authorities", path), reason());
    if (role == Role::server) SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(path.c_str()));
}

}  // namespace

bool available() noexcept { return true; }

Context::Context(Role role, const Options& options)
    : role_(role), verify_peer_(options.verify_peer), server_name_(options.server_name) {
    const bool is_server = role == Role::server;
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> made{
        SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free};
    auto* const context = made.get();
    if (context == nullptr) fail("no context", reason());
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (SSL_CTX_set_cipher_list(context, kCiphers) != 1) fail("ciphers", reason());
    if (is_server && options.certificate.empty()) throw std::runtime_error("tls: a server needs a certificate");
    if (!options.certificate.empty()) load_certificate(context, options);
    if (options.verify_peer || !options.authorities.empty()) load_authorities(context, role, options.authorities);
    const int must = is_server ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    SSL_CTX_set_verify(context, options.verify_peer ? SSL_VERIFY_PEER | must : SSL_VERIFY_NONE, nullptr);
    // A resumed session must belong to this server; without the name, a server that requires certificates disconnects
    // each client that resumes a session.
    constexpr std::array<unsigned char, 8> kSessionContext{'m', 'i', 'l', 'l', 'p', 'o', 'n', 'd'};
    SSL_CTX_set_session_id_context(context, kSessionContext.data(), kSessionContext.size());
    context_ = made.release();
}

Context::~Context() { SSL_CTX_free(context_); }

Context::Context(const Context& other) noexcept
    : context_(other.share()), role_(other.role_), verify_peer_(other.verify_peer_), server_name_(other.server_name_) {}

ssl_ctx_st* Context::share() const noexcept {
    if (context_ != nullptr) SSL_CTX_up_ref(context_);
    return context_;
}

}  // namespace millpond::tls
