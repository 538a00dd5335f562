#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <millpond/fix/admin_draft.hpp>

namespace millpond::engine {

/// How a venue wants its Logon signed. The fields named are those that the Logon must have before it is signed.
enum class LogonScheme : std::uint8_t {
    binance,            ///< Username(553): the API key. Key: PEM, Ed25519. Signature in RawData(96).
    bybit,              ///< Username(553): the API key. Key: PEM, RSA. Signature in RawData(96), its end in 30023.
    coinbase_exchange,  ///< Password(554): the passphrase. Key: base64. Signature in RawData(96).
    coinbase_prime,     ///< Password(554): the passphrase; 9407: the API key. Key: text. Signature in RawData(96).
    kraken,             ///< Username(553): the API key. Key: base64. Signature in Password(554), nonce in 5025.
    kraken_prime,       ///< Password(554): the API key. Key: text. Signature in RawData(96).
};

/// Tags of the fields that must be there.
[[nodiscard]] std::span<const fix::Tag> needed_fields(LogonScheme scheme) noexcept;
/// Whether its key is a private key in PEM.
[[nodiscard]] bool has_private_key(LogonScheme scheme) noexcept;

/// Signs the Logons of one session.
///
/// Threads: the session's.
/// Memory:  OpenSSL's, taken with each Logon; the key is overwritten when this goes.
/// Source:  the venues' published documentation, by scheme in docs/guides/fix.md.
class LogonSigner {
public:
    /// Throws std::invalid_argument when `key` is not one of the scheme's, and std::runtime_error when this build has
    /// no OpenSSL; neither shows the key.
    LogonSigner(LogonScheme scheme, std::string_view key);
    ~LogonSigner();
    LogonSigner(const LogonSigner&) = delete;
    LogonSigner& operator=(const LogonSigner&) = delete;

    /// Adds the signature, or refuses the Logon where a field that it needs is missing.
    void sign(fix::AdminDraft& logon, std::int64_t utc_ns);

private:
    class Key;
    LogonScheme scheme_;
    std::unique_ptr<Key> key_;
    std::int64_t last_millis_{0};  // of the newest nonce
};

}  // namespace millpond::engine
