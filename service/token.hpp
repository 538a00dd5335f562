#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millpond::service {

/// The source of a secret: a file, an environment variable, or none. The source may be shown, unlike the secret.
struct TokenSource {
    std::string file;         ///< File whose first line is the token.
    std::string environment;  ///< Environment variable with the token.

    [[nodiscard]] bool empty() const noexcept { return file.empty() && environment.empty(); }
    friend bool operator==(const TokenSource&, const TokenSource&) = default;
};

/// Form of a secret.
enum class SecretForm : std::uint8_t {
    line,  ///< One line; of a file, the first one.
    text,  ///< Any text, such as a PEM key; of a file, the whole contents.
};

/// Reads a secret; empty if the source is empty. what: its name in messages. Throws ConfigError with the place, never
/// with the secret: for a file that cannot be read, is not regular, or that any user may read or write, for a variable
/// that is not set, for a secret that is empty or, in one line, has control characters, or if both places are named.
[[nodiscard]] std::string read_secret(const TokenSource& source, std::string_view what,
                                      SecretForm form = SecretForm::line);

/// A secret that clients must present. It can only be compared: no function returns it, so that no log, page or message
/// can show it.
///
/// Threads: any number at once.
class Token {
public:
    /// No token: all clients are admitted.
    Token() = default;
    /// Reads the token. Throws ConfigError like read_secret, and for fewer than 16 or more than 1024 characters or
    /// blanks inside.
    explicit Token(const TokenSource& source);

    [[nodiscard]] bool required() const noexcept { return !secret_.empty(); }
    friend bool operator==(const Token&, const Token&) = default;

    /// Whether `shown` is the secret. The time depends only on the length of `shown`.
    [[nodiscard]] bool admits(std::string_view shown) const noexcept;
    /// Whether the value of an HTTP Authorization header, "Bearer SECRET", has the secret.
    [[nodiscard]] bool admits_bearer(std::string_view authorization) const noexcept;

private:
    std::string secret_;
};

}  // namespace millpond::service
