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
/// Errors:  service::ConfigError with file and line.
class UserFile {
public:
    explicit UserFile(std::string path) : path_(std::move(path)) {}

    /// Reads every line. Returns the names of the users. Throws if the file cannot be used, a line is malformed or a
    /// name is listed twice.
    [[nodiscard]] std::set<std::string, std::less<>> check() const;
    /// The hash of a user; nullopt if it has no line. Throws if the file cannot be used, or the user's line is
    /// malformed or listed twice.
    [[nodiscard]] std::optional<service::PasswordHash> find(std::string_view name) const;
    /// Replaces the line of a user, in a new file that takes the place of the old one when the disk has it. Throws,
    /// with the file unchanged, when the line is not that of `former`, the disk is full, or another process keeps
    /// the lock.
    void change(std::string_view name, const service::PasswordHash& former, const service::PasswordHash& hash) const;
    /// Sets the line of a user whatever it says now; adds a missing line, and creates a missing file (0640).
    void put(std::string_view name, const service::PasswordHash& hash) const;

private:
    std::string path_;
};

/// Whether a user name is valid: 1 to 128 visible characters without ':', not starting with '#'.
[[nodiscard]] bool is_user_name(std::string_view name) noexcept;

}  // namespace millpond::fixd
