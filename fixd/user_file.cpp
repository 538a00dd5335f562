#include "fixd/user_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>

#include "service/regular_file.hpp"
#include "service/settings/value.hpp"

namespace millpond::fixd {
namespace {

using service::PasswordHash;
using settings::ConfigError;

constexpr std::size_t kLongestName = 128;

[[noreturn]] void fail(std::string_view what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

/// Calls visit(number, line) for each line of the text, without its end.
template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto line = text.substr(0, text.find('\n'));
        visit(number, line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
}

bool is_user(std::string_view line) {
    const auto first = line.find_first_not_of(" \t");
    return first != std::string_view::npos && line[first] != '#';
}

std::string text_of(const std::string& path) {
    try {
        auto file = service::read_regular_file(path);
        if ((file.mode & (S_IROTH | S_IWOTH)) == 0) return std::move(file.text);
    } catch (const std::runtime_error& error) {
        throw ConfigError(fmt::format("user file '{}': {}", path, error.what()));
    }
    throw ConfigError(fmt::format("user file '{}': any user may read or write it; run: chmod o-rw '{}'", path, path));
}

void write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) fail("write");
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

/// A file with this text takes the place of the one at `path`, with its owner and permissions.
void replace_file(const std::string& path, std::string_view text) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) fail("stat");
    const auto next = path + ".new";
    ::unlink(next.c_str());
    try {
        const core::Descriptor file{::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
        if (!file) fail("create '" + next + "'");
        write_all(file.get(), text);
        // Users that could read the old one can read the new one. An owner is kept where we may.
        if (::fchown(file.get(), facts.st_uid, facts.st_gid) != 0 && errno != EPERM) fail("owner");
        if (::fchmod(file.get(), facts.st_mode & 07777U) != 0) fail("permissions");
        if (::fsync(file.get()) != 0) fail("fsync");
        if (::rename(next.c_str(), path.c_str()) != 0) fail("rename");
    } catch (...) {
        ::unlink(next.c_str());
        throw;
    }
    const auto folder = std::filesystem::path{path}.parent_path();
    const core::Descriptor names{::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (names) ::fsync(names.get());
}

}  // namespace

bool is_user_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= kLongestName && name.front() != '#' &&
           std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~' && c != ':'; });
}

UserFile::UserFile(std::string path) : path_(std::filesystem::weakly_canonical(path)) { reload(); }

void UserFile::reload() {
    const std::lock_guard guard{lock_};
    Users users;
    for_each_line(text_of(path_), [&](std::size_t number, std::string_view line) {
        if (!is_user(line)) return;
        const auto colon = line.find(':');
        const auto name = line.substr(0, colon);
        const auto where = fmt::format("user file '{}', line {}", path_, number);
        if (colon == std::string_view::npos || !is_user_name(name)) {
            throw ConfigError(where + ": expects NAME:HASH; run: millpond fix passwd NAME");
        }
        try {
            const auto hash = PasswordHash::parse(line.substr(colon + 1));
            if (users.emplace(name, hash).second) return;
        } catch (const std::invalid_argument& error) {
            throw ConfigError(fmt::format("{}: {}", where, error.what()));
        }
        throw ConfigError(fmt::format("{}: user '{}' is there twice", where, name));
    });
    users_ = std::move(users);
}

std::optional<PasswordHash> UserFile::find(std::string_view name) const {
    const std::lock_guard guard{lock_};
    const auto known = users_.find(name);
    return known == users_.end() ? std::nullopt : std::optional{known->second};
}

void UserFile::change(std::string_view name, const PasswordHash& hash) {
    const std::lock_guard guard{lock_};
    std::string text;
    bool found = false;
    for_each_line(text_of(path_), [&](std::size_t, std::string_view line) {
        const bool is_it = is_user(line) && line.substr(0, line.find(':')) == name;
        found = found || is_it;
        text += is_it ? fmt::format("{}:{}", name, hash.text()) : std::string{line};
        text += '\n';
    });
    if (!found) throw std::runtime_error(fmt::format("user file '{}': user '{}' has no line", path_, name));
    try {
        replace_file(path_, text);
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(fmt::format("user file '{}': {}", path_, error.what()));
    }
    users_.insert_or_assign(std::string{name}, hash);
}

}  // namespace millpond::fixd
