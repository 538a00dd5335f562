#pragma once

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/exceptions.hpp>

namespace millpond::core {

/// Default permissions of the files that a daemon creates.
inline constexpr mode_t kFileMode = 0640;

/// Opens the file at `path`, or creates it with exactly the permissions `mode`, whatever the umask. flags: for open(2),
/// except those for creation. On failure the descriptor is empty and errno is set: ELOOP if `path` is a symbolic link
/// to a regular file or a dangling one, which another user may have created. A link to a device or a pipe is followed.
[[nodiscard]] inline Descriptor open_or_create(const char* path, int flags, mode_t mode) noexcept {
    constexpr int kAttempts = 8;  // while other processes create and remove the file
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        // Another process may open the file before fchmod, so create it with the final mode, less the umask.
        Descriptor created{::open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
        if (created) {
            if (fchmod(created.get(), mode) == 0) return created;
            const int error = errno;
            ::unlink(path);
            errno = error;
            return {};
        }
        if (errno != EEXIST) return {};
        Descriptor there{::open(path, flags | O_NOFOLLOW | O_CLOEXEC)};
        if (there || (errno != ENOENT && errno != ELOOP)) return there;
        if (errno == ENOENT) continue;
        struct stat target{};
        if (stat(path, &target) != 0 || S_ISREG(target.st_mode)) {
            errno = ELOOP;
            return {};
        }
        return Descriptor{::open(path, flags | O_CLOEXEC)};
    }
    errno = EBUSY;
    return {};
}

/// Permissions of a folder for files with `file_mode`: users who may read the files may read and search it.
[[nodiscard]] constexpr mode_t folder_mode(mode_t file_mode) noexcept {
    return file_mode | 0700U | (file_mode & 0444U) >> 2U;
}

/// Creates a folder and its missing parents, each with exactly folder_mode(file_mode), whatever the umask; the
/// set-group bit is inherited. Existing folders are not changed. Throws std::filesystem::filesystem_error.
inline void create_folders(const std::filesystem::path& folder, mode_t file_mode) {
    const auto fail = [](const std::filesystem::path& path, int error) {
        MILLPOND_THROW(std::filesystem::filesystem_error("cannot create folder", path,
                                                         std::error_code{error, std::generic_category()}));
    };
    std::filesystem::path made;
    for (const auto& part : folder) {
        made /= part;
        if (::mkdir(made.c_str(), 0700) != 0) {
            if (errno == EEXIST || std::filesystem::is_directory(made)) continue;
            fail(made, errno);
        }
        struct stat facts{};
        if (::stat(made.c_str(), &facts) != 0 ||
            ::chmod(made.c_str(), folder_mode(file_mode) | (facts.st_mode & S_ISGID)) != 0)
            fail(made, errno);
    }
    if (!std::filesystem::is_directory(folder)) fail(folder, ENOTDIR);
}

/// Syncs the folder of a file to the disk, so that a crash does not undo a rename.
inline void sync_folder_of(const std::filesystem::path& file) {
    const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path{"."};
    const Descriptor names{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (names) ::fsync(names.get());
}

/// Explains an errno of open_or_create or RotatedFile, to be appended to the file's name; empty if the system's text is
/// clear.
[[nodiscard]] constexpr std::string_view why_not_opened(int error) noexcept {
    switch (error) {
        case EBUSY: return " (another process or sink writes it)";
        case ELOOP: return " (it is a symbolic link)";
        case EEXIST: return " (a file of another kind is there; move it away or choose another path)";
        case ENXIO: return " (a pipe that no process reads)";
        default: return {};
    }
}

}  // namespace millpond::core
