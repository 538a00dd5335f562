#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "service/password_hash.hpp"

namespace millpond::fixd {

/// The users that may log on, with the hashes of their passwords: a file with a line NAME:HASH for each, as
/// `millpond fix passwd` writes it; blank lines and lines that begin with '#' are skipped. Nothing is cached: each call
/// reads the file again, through symbolic links. Only its owner and group may have access to it.
///
/// Threads: any. Processes: changes wait for each other by a lock of the file (flock).
/// Errors:  settings::ConfigError with file and line.
class UserFile {
public:
    explicit UserFile(std::string path) : path_(std::move(path)) {}

    /// Reads every line and gives the users' names. Throws for a file that cannot be used, a line of another form, a
    /// name that is there twice.
    [[nodiscard]] std::set<std::string, std::less<>> check() const;
    /// The hash of a user; nothing when it has no line. Throws for a file that cannot be used and for its own line:
    /// of another form, there twice.
    [[nodiscard]] std::optional<service::PasswordHash> find(std::string_view name) const;
    /// Replaces the line of a user, in a new file that takes the place of the old one when the disk has it. Throws,
    /// with the file unchanged, when the line is not that of `former`, the disk is full, or another process keeps
    /// the lock.
    void change(std::string_view name, const service::PasswordHash& former, const service::PasswordHash& hash) const;
    /// The same whatever the line says; adds one, and the file (0640), where there is none.
    void put(std::string_view name, const service::PasswordHash& hash) const;

private:
    std::string path_;
};

/// Whether it is a valid user name: 1 to 128 visible characters without ':', and no '#' in front.
[[nodiscard]] bool is_user_name(std::string_view name) noexcept;

}  // namespace millpond::fixd
