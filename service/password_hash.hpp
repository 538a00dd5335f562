#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millpond::service {

/// Reason to refuse a password; empty if there is none. A password has 8 to 64 bytes without control characters, which
/// a FIX message cannot carry. For HMAC, on which scrypt is built, a longer password equals its SHA-256, and NULs at
/// the end are ignored (RFC 2104, section 2).
[[nodiscard]] std::string_view wrong_with_password(std::string_view password) noexcept;

/// A password hashed by scrypt, with costs and salt. Text: "$scrypt$ln=15,r=8,p=1$SALT$HASH", the last two in base64
/// without padding.
///
/// Threads: a value; `of` and `admits` are slow on purpose: tens of milliseconds of a processor.
/// Memory:  32 MiB while it hashes.
/// Source:  RFC 7914 (scrypt); the PHC string format for the text.
class PasswordHash {
public:
    /// Hashes the password with a new random salt. Throws std::invalid_argument for a password that wrong_with_password
    /// refuses, and std::runtime_error if OpenSSL has no memory or no random bytes.
    [[nodiscard]] static PasswordHash of(std::string_view password);
    /// Parses text(). Throws std::invalid_argument with the reason: another form, costs of more than 256 MiB or too
    /// long, a salt of less than 8 bytes, a hash of less than 16.
    [[nodiscard]] static PasswordHash parse(std::string_view text);

    [[nodiscard]] std::string text() const;
    /// Whether this is the password. The time is the same for every text, even for an invalid password. Throws
    /// std::runtime_error like `of`.
    [[nodiscard]] bool admits(std::string_view password) const;

private:
    [[nodiscard]] std::string derive(std::string_view password, std::size_t bytes) const;

    std::uint64_t log_cost_{15};
    std::uint64_t block_size_{8};
    std::uint64_t parallel_{1};
    std::string salt_;
    std::string hash_;
};

/// Reads a password twice from the terminal, without echo. Returns nullopt if the two differ or the input was
/// interrupted.
[[nodiscard]] std::optional<std::string> ask_password();

}  // namespace millpond::service
