#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace millpond::engine {

struct TlsOptions {
    std::filesystem::path certificate{};  ///< PEM, our certificate and its chain; a server needs one.
    std::filesystem::path key{};          ///< PEM.
    std::filesystem::path authorities{};  ///< PEM: authorities for the peer's; empty: the system's.
    /// Whether a server requires client certificates, and a client verifies its server's.
    bool verify_peer{true};
    std::string server_name{};  ///< A client: sent (SNI) and compared with the certificate; empty: the host's name.
};

enum class TlsRole : std::uint8_t { server, client };

/// Whether this build has TLS.
[[nodiscard]] bool tls_available() noexcept;

/// Keys and rules of TLS connections, read once.
///
/// Threads: shared by the I/O threads. Source: RFC 8446 (TLS 1.3), RFC 5246 (1.2, the oldest that is taken).
class TlsContext {
public:
    class Keys;

    /// Throws std::runtime_error that names the file and what OpenSSL says, or that this build has no TLS.
    TlsContext(TlsRole role, const TlsOptions& options);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    [[nodiscard]] const Keys& keys() const noexcept { return *keys_; }

private:
    std::unique_ptr<Keys> keys_;
};

}  // namespace millpond::engine
