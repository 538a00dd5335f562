#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <millpond/fix/admin_draft.hpp>

namespace millpond::engine {

/// Signature schemes of venues, with the fields that the Logon must have before it is signed.
enum class LogonScheme : std::uint8_t {
    binance,            ///< Username(553): the API key. Key: PEM, Ed25519. Signature in RawData(96).
    bybit,              ///< Username(553): the API key. Key: PEM, RSA. Signature in RawData(96), its end in 30023.
    coinbase_exchange,  ///< Password(554): the passphrase. Key: base64. Signature in RawData(96).
    coinbase_prime,     ///< Password(554): the passphrase; 9407: the API key. Key: text. Signature in RawData(96).
    kraken,             ///< Username(553): the API key. Key: base64. Signature in Password(554), nonce in 5025.
    kraken_prime,       ///< Password(554): the API key. Key: text. Signature in RawData(96).
};

/// Tags of the fields that the Logon must have.
[[nodiscard]] std::span<const fix::Tag> needed_fields(LogonScheme scheme) noexcept;
/// Whether the scheme's key is a private key in PEM.
[[nodiscard]] bool has_private_key(LogonScheme scheme) noexcept;

/// Signs the Logons of one session.
///
/// Threads: the session's.
/// Memory:  OpenSSL's, allocated for each Logon; the destructor overwrites the key.
/// Source:  the venues' published documentation, by scheme in docs/guides/fix-sessions.md.
class LogonSigner {
public:
    /// Throws std::invalid_argument if `key` is not a key of the scheme, and std::runtime_error if this build has no
    /// OpenSSL. Error texts do not contain the key.
    LogonSigner(LogonScheme scheme, std::string_view key);
    ~LogonSigner();
    LogonSigner(const LogonSigner&) = delete;
    LogonSigner& operator=(const LogonSigner&) = delete;

    /// Adds the signature, or refuses the Logon if a required field is missing.
    void sign(fix::AdminDraft& logon, std::int64_t utc_ns);

private:
    class Key;
    LogonScheme scheme_;
    std::unique_ptr<Key> key_;
    std::int64_t last_millis_{0};  // time of the newest nonce
};

}  // namespace millpond::engine
