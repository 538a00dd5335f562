#pragma once

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/created_file.hpp>
#include <millpond/core/file_size_limit.hpp>

namespace millpond::core {

/// A file that is renamed to PATH.1, PATH.2, ... when it is full; the highest number is the newest. While it is open,
/// no other RotatedFile in any process can open the same PATH.
///
/// Threads: one.
class RotatedFile {
public:
    /// mode: permissions of created files. begins_with: first bytes of every file of this kind, which must outlive
    /// this; a file at PATH that begins differently is not renamed. Empty: any file is renamed.
    explicit RotatedFile(std::string path, mode_t mode = kFileMode, std::string_view begins_with = {})
        : path_(std::move(path)), mode_(mode), begins_with_(begins_with) {}
    RotatedFile(const RotatedFile&) = delete;
    RotatedFile& operator=(const RotatedFile&) = delete;

    /// Opens an empty file at PATH; the file of an earlier run is renamed like a full one. Returns false, with errno:
    /// EBUSY if another RotatedFile has it open, ELOOP for a symbolic link, EEXIST for a file of another kind, ENXIO
    /// for a pipe that no process reads. Writing to a pipe does not block either.
    [[nodiscard]] bool open() noexcept;
    /// Opens PATH for appending, after a line end. Returns false, with errno, like `open`, and with EEXIST if it is not
    /// a regular file or has another mode.
    [[nodiscard]] bool open_again() noexcept;
    /// Closes and renames the file, if it is a regular file that no other process has moved. Returns false, with errno,
    /// on failure; the file is then still open. hold: keeps it open for write_before until the next rotation.
    [[nodiscard]] bool rotate(bool hold = false) noexcept;
    /// Closes the file if another process has moved or removed it; the next `open` creates a new one. Returns whether
    /// it did. Two system calls.
    [[nodiscard]] bool close_if_moved() noexcept;
    /// Removes renamed files, oldest first, until at most `max` remain; 0: no limit. Compressed files (PATH.N.zst)
    /// count. May run on another thread.
    void keep_newest(std::uint64_t max) const;
    /// Numbers of the existing renamed files. plain: only of uncompressed ones.
    [[nodiscard]] std::set<std::uint64_t> renamed(bool plain = false) const;

    /// Writes text. Returns the number of written bytes: fewer than given if the disk or pipe is full, 0 with errno on
    /// an error. Does not wait for the reader of a pipe: EAGAIN if it is full.
    [[nodiscard]] std::size_t write(std::string_view text) noexcept;
    /// Like write, for text lines: the written part of a line that did not fit is removed again from a regular file.
    [[nodiscard]] std::size_t write_lines(std::string_view text) noexcept;
    /// Like write_lines, to the file that was renamed last, if rotate held it.
    [[nodiscard]] std::size_t write_before(std::string_view text) const noexcept {
        return write_to(before_.get(), text);
    }

    /// Whether the file at `path` begins with these bytes, at most 256, or has only a prefix of them, as a killed
    /// writer leaves it. Returns false, with errno: EEXIST if it begins differently, or the reason why it cannot be
    /// read.
    [[nodiscard]] static bool begins_with(const std::string& path, std::string_view bytes) noexcept;

    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(descriptor_); }
    [[nodiscard]] bool is_held() const noexcept { return static_cast<bool>(before_); }
    /// Size of the open file.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    static constexpr const char* kPacked = ".zst";

    [[nodiscard]] bool move_away() noexcept;
    /// Whether PATH leads to the open file.
    [[nodiscard]] bool names(int descriptor) const noexcept;
    /// Locks the file. Returns false, with errno, on failure, also if PATH leads to another file now.
    [[nodiscard]] bool lock(int descriptor) const noexcept;
    [[nodiscard]] static std::size_t write_to(int descriptor, std::string_view text) noexcept;

    std::string path_;
    mode_t mode_;
    std::string_view begins_with_;
    Descriptor descriptor_;
    Descriptor before_;  // the file that was renamed last
    std::uint64_t bytes_{0};
    std::uint64_t next_number_{0};  // 0: the folder was not read yet
};

inline bool RotatedFile::open() noexcept {
    bytes_ = 0;
    // At most twice: the file of an earlier run is renamed, and no other process can do that while we hold its lock.
    for (int attempt = 0; attempt < 2; ++attempt) {
        auto opened = open_or_create(path_.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK, mode_);
        if (!opened) return false;
        struct stat status{};
        bool good = fstat(opened.get(), &status) == 0;
        const bool regular = good && S_ISREG(status.st_mode);
        if (regular) good = lock(opened.get());
        if (good && (!regular || status.st_size == 0)) {
            descriptor_ = std::move(opened);
            return true;
        }
        if (good) good = (begins_with_.empty() || begins_with(path_, begins_with_)) && move_away();
        if (!good) return false;
    }
    errno = EBUSY;
    return false;
}

inline bool RotatedFile::open_again() noexcept {
    Descriptor opened{::open(path_.c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    struct stat status{};
    if (!opened || fstat(opened.get(), &status) != 0) return false;
    if (!S_ISREG(status.st_mode) || (status.st_mode & 07777U) != mode_) {
        errno = EEXIST;
        return false;
    }
    if (!lock(opened.get()) || fstat(opened.get(), &status) != 0) return false;
    bytes_ = static_cast<std::uint64_t>(status.st_size);
    descriptor_ = std::move(opened);
    char last = '\n';
    static_cast<void>(pread(descriptor_.get(), &last, 1, status.st_size - 1));
    if (last != '\n') static_cast<void>(write("\n"));  // the writer of the incomplete line was killed
    return true;
}

inline bool RotatedFile::begins_with(const std::string& path, std::string_view bytes) noexcept {
    constexpr std::size_t kMaxBytes = 256;
    std::array<char, kMaxBytes> found{};
    bytes = bytes.substr(0, kMaxBytes);
    const Descriptor readable{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (!readable) return false;
    const auto got = ::read(readable.get(), found.data(), bytes.size());
    if (got >= 0 && bytes.starts_with(std::string_view{found.data(), static_cast<std::size_t>(got)})) return true;
    errno = EEXIST;
    return false;
}

inline bool RotatedFile::lock(int descriptor) const noexcept {
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) errno = EBUSY;
        return false;
    }
    const bool same = names(descriptor);
    if (!same) errno = EBUSY;  // its owner has just renamed it
    return same;
}

inline bool RotatedFile::names(int descriptor) const noexcept {
    struct stat held{};
    struct stat named{};
    return fstat(descriptor, &held) == 0 && stat(path_.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

inline bool RotatedFile::close_if_moved() noexcept {
    struct stat status{};
    const bool moved =
        is_open() && fstat(descriptor_.get(), &status) == 0 && S_ISREG(status.st_mode) && !names(descriptor_.get());
    if (moved) descriptor_ = {};
    return moved;
}

inline bool RotatedFile::rotate(bool hold) noexcept {
    struct stat status{};
    if (fstat(descriptor_.get(), &status) != 0) return false;
    if (S_ISREG(status.st_mode) && names(descriptor_.get()) && !move_away()) return false;
    auto full = std::move(descriptor_);
    before_ = hold ? std::move(full) : Descriptor{};
    return true;
}

inline std::set<std::uint64_t> RotatedFile::renamed(bool plain) const {
    const std::filesystem::path path{path_};
    const auto prefix = path.filename().string() + ".";
    std::set<std::uint64_t> numbers;
    std::error_code error;  // an unreadable folder counts as empty
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
    const std::filesystem::directory_iterator none;
    for (std::filesystem::directory_iterator at{folder, error}; !error && at != none; at.increment(error)) {
        const auto name = at->path().filename().string();
        if (!name.starts_with(prefix)) continue;
        std::uint64_t number = 0;
        const auto* const end = name.data() + name.size();
        const auto read = std::from_chars(name.data() + prefix.size(), end, number);
        const std::string_view rest{read.ptr, static_cast<std::size_t>(end - read.ptr)};
        if (read.ec == std::errc{} && (rest.empty() || (!plain && rest == kPacked))) numbers.insert(number);
    }
    return numbers;
}

inline void RotatedFile::keep_newest(std::uint64_t max) const {
    if (max == 0) return;
    auto numbers = renamed();
    std::error_code stays;
    for (; numbers.size() > max; numbers.erase(numbers.begin())) {
        const auto name = path_ + "." + std::to_string(*numbers.begin());
        std::filesystem::remove(name, stays);
        std::filesystem::remove(name + kPacked, stays);
    }
}

inline bool RotatedFile::move_away() noexcept {
    // The highest number is that of the newest file, even if the first ones were removed.
    if (next_number_ == 0) {
        const auto known = renamed();
        next_number_ = known.empty() ? 1 : *known.rbegin() + 1;
    }
    // A hard link, unlike rename, does not replace an existing file.
    std::string name;
    do {
        name = path_ + "." + std::to_string(next_number_++);
        if (link(path_.c_str(), name.c_str()) == 0) return unlink(path_.c_str()) == 0;
    } while (errno == EEXIST);
    return false;
}

inline std::size_t RotatedFile::write(std::string_view text) noexcept {
    const auto written = write_to(descriptor_.get(), text);
    bytes_ += written;
    return written;
}

inline std::size_t RotatedFile::write_lines(std::string_view text) noexcept {
    const auto written = write(text);
    if (written == text.size()) return written;
    const auto whole = text.substr(0, written).rfind('\n') + 1;  // npos + 1 is 0
    if (whole == written) return written;
    struct stat status{};
    if (fstat(descriptor_.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        ftruncate(descriptor_.get(), status.st_size - static_cast<off_t>(written - whole)) != 0) {
        return written;
    }
    bytes_ -= written - whole;
    errno = ENOSPC;
    return whole;
}

inline std::size_t RotatedFile::write_to(int descriptor, std::string_view text) noexcept {
    ssize_t written = 0;
    const FileSizeLimit limit;
    do written = ::write(descriptor, text.data(), text.size());
    while (written < 0 && errno == EINTR);
    return written < 0 ? 0 : static_cast<std::size_t>(written);
}

}  // namespace millpond::core
