#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "service/password_hash.hpp"

namespace millpond::fixd {

/// The users that may log on, with the hashes of their passwords: a file with a line NAME:HASH for each, as
/// `millpond fix passwd` prints it; blank lines and lines that begin with '#' are left alone.
///
/// Threads: any.
class UserFile {
public:
    /// Reads it. Throws settings::ConfigError with file and line: not readable, readable or writable by every user, a
    /// line of another form, a name that is there twice.
    explicit UserFile(std::string path);

    /// Reads it again; throws as the constructor, with nothing changed.
    void reload();
    [[nodiscard]] std::optional<service::PasswordHash> find(std::string_view name) const;
    /// Replaces the line of a user, in a new file that takes the place of the old one when the disk has it. Throws
    /// std::runtime_error that says what failed, with the file unchanged: the user's line has gone, the disk is full.
    void change(std::string_view name, const service::PasswordHash& hash);

private:
    using Users = std::map<std::string, service::PasswordHash, std::less<>>;

    std::string path_;
    mutable std::mutex lock_;  // of the file, too
    Users users_;
};

/// Whether it can stand in such a file: 1 to 128 visible characters without ':', and no '#' in front.
[[nodiscard]] bool is_user_name(std::string_view name) noexcept;

}  // namespace millpond::fixd
