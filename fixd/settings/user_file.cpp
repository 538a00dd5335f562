#include "fixd/settings/user_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/created_file.hpp>
#include <millpond/core/descriptor.hpp>

#include "service/config_error.hpp"
#include "service/regular_file.hpp"

namespace millpond::fixd {
namespace {

using service::ConfigError;
using service::PasswordHash;

constexpr std::size_t kMaxUserNameBytes = 128;
constexpr int kMaxLockTries = 200;
constexpr std::chrono::milliseconds kLockEvery{10};

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

/// The file, locked: other processes that change it wait for this one. The wait is bounded, because every process that
/// may read the file can lock it.
core::Descriptor locked(const std::string& path) {
    for (int tries = 0; tries < kMaxLockTries; ++tries) {
        core::Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
        if (!file) fail("open");
        if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
            struct stat ours{};
            struct stat there{};
            if (::fstat(file.get(), &ours) != 0 || ::stat(path.c_str(), &there) != 0) fail("stat");
            if (ours.st_ino == there.st_ino && ours.st_dev == there.st_dev) return file;
            continue;  // the file was replaced meanwhile
        }
        if (errno != EWOULDBLOCK) fail("lock");
        std::this_thread::sleep_for(kLockEvery);
    }
    throw std::runtime_error("another process keeps it locked");
}

std::string_view name_in(std::string_view line) { return line.substr(0, line.find(':')); }

/// where: file and line, for messages.
PasswordHash hash_in(std::string_view line, const std::string& where) {
    const auto name = name_in(line);
    if (name.size() == line.size() || !is_user_name(name)) {
        throw ConfigError(where + ": expects NAME:HASH; run: millpond fix passwd NAME");
    }
    try {
        return PasswordHash::parse(line.substr(name.size() + 1));
    } catch (const std::invalid_argument& error) {
        throw ConfigError(fmt::format("{}: {}", where, error.what()));
    }
}

/// File and line, for messages.
std::string place(const std::string& path, std::size_t number) {
    return fmt::format("user file '{}', line {}", path, number);
}

/// Empty if there is none.
std::optional<PasswordHash> find_in(std::string_view text, std::string_view name, const std::string& path) {
    std::optional<PasswordHash> found;
    for_each_line(text, [&](std::size_t number, std::string_view line) {
        if (!is_user(line) || name_in(line) != name) return;
        if (found) throw ConfigError(fmt::format("{}: user '{}' is listed twice", place(path, number), name));
        found = hash_in(line, place(path, number));
    });
    return found;
}

/// Replaces a user's line if `may_replace` accepts the old one.
template <class MayReplace>
void write_line(const std::string& path, std::string_view name, const PasswordHash& hash, MayReplace&& may_replace) {
    try {
        const auto file = std::filesystem::canonical(path).string();
        const auto lock = locked(file);
        const auto text = text_of(file);
        may_replace(find_in(text, name, path));
        const auto ours = fmt::format("{}:{}\n", name, hash.text());
        std::string next;
        bool found = false;
        for_each_line(text, [&](std::size_t, std::string_view line) {
            const bool is_ours = is_user(line) && name_in(line) == name;
            found = found || is_ours;
            next += is_ours ? ours : fmt::format("{}\n", line);
        });
        service::replace_regular_file(file, found ? next : next + ours, 0600);
    } catch (const ConfigError&) {
        throw;
    } catch (const std::exception& error) {
        throw ConfigError(fmt::format("user file '{}': {}", path, error.what()));
    }
}

}  // namespace

bool is_user_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= kMaxUserNameBytes && name.front() != '#' &&
           std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~' && c != ':'; });
}

std::set<std::string, std::less<>> UserFile::check() const {
    std::set<std::string, std::less<>> names;
    for_each_line(text_of(path_), [&](std::size_t number, std::string_view line) {
        if (!is_user(line)) return;
        const auto where = place(path_, number);
        static_cast<void>(hash_in(line, where));
        if (names.emplace(name_in(line)).second) return;
        throw ConfigError(fmt::format("{}: user '{}' is listed twice", where, name_in(line)));
    });
    return names;
}

std::optional<PasswordHash> UserFile::find(std::string_view name) const { return find_in(text_of(path_), name, path_); }

void UserFile::change(std::string_view name, const PasswordHash& former, const PasswordHash& hash) const {
    write_line(path_, name, hash, [&](const std::optional<PasswordHash>& there) {
        if (!there) throw std::runtime_error(fmt::format("user '{}' no longer has a line", name));
        if (there->text() != former.text()) {
            throw std::runtime_error(fmt::format("the line of user '{}' was changed in the meantime", name));
        }
    });
}

void UserFile::put(std::string_view name, const PasswordHash& hash) const {
    struct stat facts{};
    if (::stat(path_.c_str(), &facts) != 0 && errno == ENOENT &&
        !core::open_or_create(path_.c_str(), O_RDONLY, core::kFileMode)) {
        throw ConfigError(
            fmt::format("user file '{}': cannot create it: {}", path_, std::generic_category().message(errno)));
    }
    write_line(path_, name, hash, [](const std::optional<PasswordHash>&) {});
}

}  // namespace millpond::fixd
