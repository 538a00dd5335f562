#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millpond::core {

/// A file that is renamed to PATH.1, PATH.2, ... when it is full, the highest number being the newest.
///
/// Threads: one.
class RotatedFile {
public:
    explicit RotatedFile(std::string path) : path_(std::move(path)) {}
    ~RotatedFile() { close_it(); }
    RotatedFile(const RotatedFile&) = delete;
    RotatedFile& operator=(const RotatedFile&) = delete;

    /// Opens PATH empty; what is there from an earlier run is renamed as a full file is. False with errno.
    [[nodiscard]] bool open() noexcept;
    /// Closes and renames the file, if it is a regular one. False with errno; the file is then still open.
    [[nodiscard]] bool rotate() noexcept;

    /// Bytes written, fewer than asked for when the disk is full; 0 with errno when none.
    [[nodiscard]] std::size_t write(std::string_view text) noexcept;

    [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
    /// Bytes in the open file.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    [[nodiscard]] bool move_away() noexcept;
    void close_it() noexcept {
        if (descriptor_ >= 0) ::close(descriptor_);
        descriptor_ = -1;
    }

    std::string path_;
    int descriptor_{-1};
    std::uint64_t bytes_{0};
    std::uint64_t next_number_{1};
};

inline bool RotatedFile::open() noexcept {
    struct stat status{};
    const bool is_there = stat(path_.c_str(), &status) == 0;
    if (is_there && S_ISREG(status.st_mode) && status.st_size > 0 && !move_away()) return false;
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    bytes_ = 0;
    return descriptor_ >= 0;
}

inline bool RotatedFile::rotate() noexcept {
    struct stat status{};
    if (fstat(descriptor_, &status) != 0) return false;
    if (S_ISREG(status.st_mode) && !move_away()) return false;
    close_it();
    return true;
}

inline bool RotatedFile::move_away() noexcept {
    // A hard link refuses to replace what is there, which rename does not.
    std::string name;
    do {
        name = path_ + "." + std::to_string(next_number_++);
        if (link(path_.c_str(), name.c_str()) == 0) return unlink(path_.c_str()) == 0;
    } while (errno == EEXIST);
    return false;
}

inline std::size_t RotatedFile::write(std::string_view text) noexcept {
    ssize_t written = 0;
    do written = ::write(descriptor_, text.data(), text.size());
    while (written < 0 && errno == EINTR);
    if (written < 0) return 0;
    bytes_ += static_cast<std::uint64_t>(written);
    return static_cast<std::size_t>(written);
}

}  // namespace millpond::core
