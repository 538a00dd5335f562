#include "service/tls.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <sys/stat.h>

#include "service/regular_file.hpp"
#include "service/settings/value.hpp"

namespace millpond::service {

using settings::ConfigError;
namespace {

/// Ciphers of TLS 1.2 with forward secrecy and authenticated encryption; those of 1.3 all have both.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

/// OpenSSL's message for its latest error, which is cleared.
std::string reason() {
    std::array<char, 256> text{};
    const auto code = ERR_peek_last_error();
    ERR_clear_error();
    if (code == 0) return "no reason given";
    ERR_error_string_n(code, text.data(), text.size());
    return text.data();
}

[[noreturn]] void refuse(const std::string& what, const std::string& file) {
    throw ConfigError(fmt::format("tls: {} '{}': {}", what, file, reason()));
}

/// OpenSSL would wait for the other end of a pipe.
void require_file(const char* what, const std::string& path) try {
    if (!path.empty()) require_regular_file(path);
} catch (const std::runtime_error& error) {
    throw ConfigError(fmt::format("tls: {} '{}': {}", what, path, error.what()));
}

void require_private(const std::string& key) {
    struct stat facts{};
    if (stat(key.c_str(), &facts) != 0) {
        throw ConfigError(fmt::format("tls: key '{}': {}", key, std::generic_category().message(errno)));
    }
    if ((facts.st_mode & (S_IROTH | S_IWOTH)) != 0) {
        throw ConfigError(fmt::format("tls: key '{}': any user may read or write it; run: chmod o-rw '{}'", key, key));
    }
}

}  // namespace

TlsContext::TlsContext(const TlsOptions& options) {
    if (options.empty()) return;
    if (options.certificate.empty())
        throw ConfigError("tls: tls_certificate is required with tls_key or tls_client_ca");
    if (options.key.empty()) throw ConfigError("tls: tls_key is required with tls_certificate");
    require_file("certificate", options.certificate);
    require_file("key", options.key);
    require_file("client_ca", options.client_ca);
    require_private(options.key);
    context_ = SSL_CTX_new(TLS_server_method());
    if (context_ == nullptr) throw ConfigError("tls: " + reason());
    try {
        SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
        SSL_CTX_set_options(context_,
                            SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
        SSL_CTX_set_mode(
            context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
        if (SSL_CTX_set_cipher_list(context_, kCiphers) != 1) throw ConfigError("tls: ciphers: " + reason());
        if (SSL_CTX_use_certificate_chain_file(context_, options.certificate.c_str()) != 1) {
            refuse("certificate", options.certificate);
        }
        if (SSL_CTX_use_PrivateKey_file(context_, options.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
            SSL_CTX_check_private_key(context_) != 1) {
            refuse("key", options.key);
        }
        if (options.client_ca.empty()) return;
        if (SSL_CTX_load_verify_locations(context_, options.client_ca.c_str(), nullptr) != 1) {
            refuse("client_ca", options.client_ca);
        }
        SSL_CTX_set_client_CA_list(context_, SSL_load_client_CA_file(options.client_ca.c_str()));
        SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
        // A session taken up again must have been one of this server's own.
        constexpr std::array<unsigned char, 8> kSessionContext{'m', 'i', 'l', 'l', 'p', 'o', 'n', 'd'};
        SSL_CTX_set_session_id_context(context_, kSessionContext.data(), kSessionContext.size());
    } catch (...) {
        SSL_CTX_free(context_);
        throw;
    }
}

void check_client_files(const std::string& authority, const std::string& certificate, const std::string& key) {
    require_file("authority", authority);
    require_file("certificate", certificate);
    require_file("key", key);
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context{SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
    if (context == nullptr) throw ConfigError("tls: " + reason());
    if (!authority.empty() && SSL_CTX_load_verify_locations(context.get(), authority.c_str(), nullptr) != 1) {
        refuse("authority", authority);
    }
    if (!certificate.empty() && SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1) {
        refuse("certificate", certificate);
    }
    if (!key.empty() && (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
                         SSL_CTX_check_private_key(context.get()) != 1)) {
        refuse("key", key);
    }
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

TlsContext::TlsContext(const TlsContext& other) noexcept : context_(other.share()) {}

ssl_ctx_st* TlsContext::share() const noexcept {
    if (context_ != nullptr) SSL_CTX_up_ref(context_);
    return context_;
}

}  // namespace millpond::service
