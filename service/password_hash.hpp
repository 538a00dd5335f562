#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millpond::service {

/// Why a password is refused; empty if it is accepted. It must have 8 to 64 bytes without control characters: a FIX
/// message cannot carry those, and for HMAC, on which scrypt is built, a longer password equals its SHA-256 and one
/// with NULs at the end equals the one without (RFC 2104, section 2).
[[nodiscard]] std::string_view wrong_with_password(std::string_view password) noexcept;

/// A password hashed by scrypt, with costs and salt. Text: "$scrypt$ln=15,r=8,p=1$SALT$HASH", the last two in base64
/// without padding.
///
/// Threads: a value; `of` and `admits` are slow on purpose: tens of milliseconds of a processor.
/// Memory:  32 MiB while it hashes.
/// Source:  RFC 7914 (scrypt); the PHC string format for the text.
class PasswordHash {
public:
    /// Hashes the password with a new random salt. Throws std::invalid_argument for what wrong_with_password names, and
    /// std::runtime_error when OpenSSL has no memory or no random bytes.
    [[nodiscard]] static PasswordHash of(std::string_view password);
    /// Parses text(). Throws std::invalid_argument with the reason: another form, costs of more than 256 MiB or too
    /// long, a salt of less than 8 bytes, a hash of less than 16.
    [[nodiscard]] static PasswordHash parse(std::string_view text);

    [[nodiscard]] std::string text() const;
    /// Whether this is the password. Takes the same time for every text, also for one that is not a valid password.
    /// Throws std::runtime_error as `of`.
    [[nodiscard]] bool admits(std::string_view password) const;

private:
    [[nodiscard]] std::string derive(std::string_view password, std::size_t bytes) const;

    std::uint64_t log_cost_{15};
    std::uint64_t block_size_{8};
    std::uint64_t parallel_{1};
    std::string salt_;
    std::string hash_;
};

/// Asks for a password twice on the terminal, without echo. Returns nothing if the two differ or the input was
/// interrupted.
[[nodiscard]] std::optional<std::string> ask_password();

}  // namespace millpond::service
