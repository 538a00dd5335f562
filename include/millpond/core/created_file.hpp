#pragma once

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millpond::core {

/// Permissions of the files that a daemon creates, unless its settings say otherwise.
inline constexpr mode_t kFileMode = 0640;

/// Opens the file at `path`, or creates it with exactly the permissions `mode`, whatever the umask. flags: as open(2)
/// takes them, without those that are about creation. -1 with errno; ELOOP when `path` is a symbolic link to a regular
/// file or to nothing, which another user may have put there. A link to a device or a pipe is followed.
[[nodiscard]] inline int open_or_create(const char* path, int flags, mode_t mode) noexcept {
    constexpr int kAttempts = 8;  // while others create and remove the file
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const int created = ::open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (created >= 0) {
            if (fchmod(created, mode) == 0) return created;
            const int error = errno;
            ::close(created);
            ::unlink(path);
            errno = error;
            return -1;
        }
        if (errno != EEXIST) return -1;
        const int there = ::open(path, flags | O_NOFOLLOW | O_CLOEXEC);
        if (there >= 0 || (errno != ENOENT && errno != ELOOP)) return there;
        if (errno == ENOENT) continue;
        struct stat target{};
        if (stat(path, &target) != 0 || S_ISREG(target.st_mode)) {
            errno = ELOOP;
            return -1;
        }
        return ::open(path, flags | O_CLOEXEC);
    }
    errno = EBUSY;
    return -1;
}

/// What open_or_create and RotatedFile mean by an error that says little itself, to be put behind the file's name; else
/// empty.
[[nodiscard]] constexpr std::string_view why_not_opened(int error) noexcept {
    switch (error) {
        case EBUSY: return " (another process or sink writes it)";
        case ELOOP: return " (it is a symbolic link)";
        default: return {};
    }
}

}  // namespace millpond::core
