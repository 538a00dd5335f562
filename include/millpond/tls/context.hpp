#pragma once

#include <cstdint>
#include <string>
#include <utility>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace millpond::tls {

enum class Role : std::uint8_t { server, client };

/// PEM files of a TLS connection, and how the peer is verified.
struct Options {
    std::string certificate{};  ///< Our certificate, then those between it and the root. Required for a server.
    std::string
        key{};  ///< Private key of the certificate. Other users must not be able to read or write it (chmod o-rw).
    std::string authorities{};  ///< Authorities that sign the peer's certificate; empty: the system's.
    /// Whether a server requires a client certificate, and a client verifies the server's.
    bool verify_peer{true};
    std::string
        server_name{};  ///< Name that a client sends (SNI) and compares with the certificate; empty: the host's name.
    /// Whether there are no files.
    [[nodiscard]] bool empty() const noexcept { return certificate.empty() && key.empty() && authorities.empty(); }
    friend bool operator==(const Options&, const Options&) = default;
};

/// Whether this build has TLS.
[[nodiscard]] bool available() noexcept;

/// Keys and rules of TLS connections, read and checked once. Permits TLS 1.2 with forward secrecy and authenticated
/// encryption, and TLS 1.3, without renegotiation and compression.
///
/// Threads: any number may create connections from it at once.
/// Source:  RFC 8446 (TLS 1.3), RFC 5246 (TLS 1.2), Mozilla's "intermediate" TLS configuration.
class Context {
public:
    /// Without TLS.
    Context() = default;
    /// Throws std::runtime_error that names the file and the reason: a file that cannot be used, a key that other users
    /// may read or write, or a build without TLS.
    Context(Role role, const Options& options);
    ~Context();
    Context(const Context& other) noexcept;
    Context& operator=(Context other) noexcept {
        std::swap(context_, other.context_);
        std::swap(role_, other.role_);
        std::swap(verify_peer_, other.verify_peer_);
        std::swap(server_name_, other.server_name_);
        return *this;
    }

    [[nodiscard]] bool on() const noexcept { return context_ != nullptr; }
    [[nodiscard]] Role role() const noexcept { return role_; }
    [[nodiscard]] bool verify_peer() const noexcept { return verify_peer_; }
    [[nodiscard]] const std::string& server_name() const noexcept { return server_name_; }
    /// Context for SSL_new; null if not on().
    [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_; }
    /// Adds a reference that the caller frees, as boost::asio::ssl::context{tls.share()} does.
    [[nodiscard]] ssl_ctx_st* share() const noexcept;

private:
    ssl_ctx_st* context_{nullptr};
    Role role_{Role::client};
    bool verify_peer_{true};
    std::string server_name_;
};

}  // namespace millpond::tls
