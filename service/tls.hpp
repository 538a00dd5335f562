#pragma once

#include <string>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace millpond::service {

/// What a server needs to speak TLS. Without a certificate it speaks plain.
struct TlsOptions {
    std::string certificate;  ///< PEM file: the server's certificate, then those between it and the root.
    std::string key;          ///< PEM file with its private key.
    std::string client_ca;    ///< PEM file: clients must show a certificate signed by one of these; empty: no need.

    [[nodiscard]] bool empty() const noexcept { return certificate.empty() && key.empty() && client_ca.empty(); }
    friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

/// A server's TLS settings, loaded and checked once: TLS 1.2 with forward secrecy or 1.3, no renegotiation, no
/// compression. Whatever speaks TLS makes its connections from it.
///
/// Threads: any number may make connections from it at once.
/// Source:  SSL_CTX_new(3ssl), Mozilla's "intermediate" server side TLS configuration.
class TlsContext {
public:
    /// None: plain.
    TlsContext() = default;
    /// Throws ConfigError that names the file and what is wrong with it; also for a key file that any user may read.
    explicit TlsContext(const TlsOptions& options);
    ~TlsContext();
    TlsContext(const TlsContext& other) noexcept;
    TlsContext& operator=(const TlsContext&) = delete;

    [[nodiscard]] bool on() const noexcept { return context_ != nullptr; }
    /// For SSL_new; null when not on().
    [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_; }
    /// A reference of its own, which the taker frees: boost::asio::ssl::context{tls.share()} does.
    [[nodiscard]] ssl_ctx_st* share() const noexcept;

private:
    ssl_ctx_st* context_{nullptr};
};

/// Throws ConfigError that names the first of a client's PEM files that cannot be used; those that are empty are not
/// looked at.
void check_client_files(const std::string& authority, const std::string& certificate, const std::string& key);

}  // namespace millpond::service
