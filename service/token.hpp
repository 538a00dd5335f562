#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millpond::service {

/// The source of a secret: one of the two, or none. It is not the secret, so it may be shown.
struct TokenSource {
    std::string file;         ///< A file whose first line is the token.
    std::string environment;  ///< Name of an environment variable that holds it.

    [[nodiscard]] bool empty() const noexcept { return file.empty() && environment.empty(); }
    friend bool operator==(const TokenSource&, const TokenSource&) = default;
};

/// What a secret looks like.
enum class SecretForm : std::uint8_t {
    line,  ///< One line: of a file, the first.
    text,  ///< Any text: of a file, all of it. A key in PEM.
};

/// Reads a secret; empty when no place is named. what: whose it is, for messages. Throws ConfigError with the place,
/// never with the secret: for a file that cannot be read, is not a regular one or that any user may read or write, a
/// variable that is not set, a secret that is empty or, in one line, holds control characters, or both places named.
[[nodiscard]] std::string read_secret(const TokenSource& source, std::string_view what,
                                      SecretForm form = SecretForm::line);

/// A secret that callers must show before they are served. It can be compared and nothing else: no function gives it
/// back, so that no log, page or message can show it.
///
/// Threads: any number at once.
class Token {
public:
    /// None: all clients are admitted.
    Token() = default;
    /// Reads it. Throws ConfigError as read_secret, and for fewer than 16 or more than 1024 characters or blanks
    /// inside.
    explicit Token(const TokenSource& source);

    [[nodiscard]] bool required() const noexcept { return !secret_.empty(); }

    /// Whether `shown` is the secret. Takes as long for a nearly right one as for a wrong one of the same length.
    [[nodiscard]] bool admits(std::string_view shown) const noexcept;
    /// The same for the value of an HTTP Authorization header, "Bearer SECRET".
    [[nodiscard]] bool admits_bearer(std::string_view authorization) const noexcept;

private:
    std::string secret_;
};

}  // namespace millpond::service
