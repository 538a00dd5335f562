#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millpond::service {

/// What is wrong with a password; empty: nothing. It has 8 to 64 bytes, none of them a control character: a FIX message
/// carries no such value, and HMAC, on which scrypt is built, takes a longer one for its SHA-256 and one with NULs
/// behind it for the same without (RFC 2104, section 2).
[[nodiscard]] std::string_view wrong_with_password(std::string_view password) noexcept;

/// A password as it is kept: by scrypt, with its costs and salt. Text: "$scrypt$ln=15,r=8,p=1$SALT$HASH", the last two
/// in base64 without padding.
///
/// Threads: a value; of and admits take long on purpose, tens of milliseconds of a processor.
/// Memory:  32 MiB while it hashes.
/// Source:  RFC 7914 (scrypt); the PHC string format for the text.
class PasswordHash {
public:
    /// Hashes it with a new random salt. Throws std::invalid_argument for what wrong_with_password names, and
    /// std::runtime_error when OpenSSL has no memory or no random bytes.
    [[nodiscard]] static PasswordHash of(std::string_view password);
    /// Reads text(). Throws std::invalid_argument that says what is wrong: another form, costs that take more than
    /// 256 MiB or too long, a salt or hash of less than 8 or 16 bytes.
    [[nodiscard]] static PasswordHash parse(std::string_view text);

    [[nodiscard]] std::string text() const;
    /// Whether this is the password. Takes equally long for each, also for what can be none. Throws std::runtime_error
    /// as `of`.
    [[nodiscard]] bool admits(std::string_view password) const;

private:
    [[nodiscard]] std::string derive(std::string_view password, std::size_t bytes) const;

    std::uint64_t log_cost_{15};
    std::uint64_t block_size_{8};
    std::uint64_t parallel_{1};
    std::string salt_;
    std::string hash_;
};

/// Asks for a password twice on the terminal, which shows nothing of it, also when it is interrupted. Nothing when the
/// two differ or it was interrupted.
[[nodiscard]] std::optional<std::string> ask_password();

}  // namespace millpond::service
