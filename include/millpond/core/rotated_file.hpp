#pragma once

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
#include <sys/stat.h>
#include <unistd.h>

namespace millpond::core {

/// A file that is renamed to PATH.1, PATH.2, ... when it is full, the highest number being the newest.
///
/// Threads: one.
class RotatedFile {
public:
    explicit RotatedFile(std::string path) : path_(std::move(path)) {}
    ~RotatedFile() {
        close_it(descriptor_);
        close_it(before_);
    }
    RotatedFile(const RotatedFile&) = delete;
    RotatedFile& operator=(const RotatedFile&) = delete;

    /// Opens PATH empty; what is there from an earlier run is renamed as a full file is. False with errno.
    [[nodiscard]] bool open() noexcept;
    /// Closes and renames the file, if it is a regular one. False with errno; the file is then still open. hold: what
    /// write_before writes goes there until the next rotation.
    [[nodiscard]] bool rotate(bool hold = false) noexcept;
    /// Removes renamed files, the oldest first, so that at most `most` are there; 0: all may stay.
    void keep_newest(std::uint64_t most) const;

    /// Bytes written, fewer than asked for when the disk is full; 0 with errno when none.
    [[nodiscard]] std::size_t write(std::string_view text) noexcept;
    /// The same, of the file that was renamed last, where that was held.
    [[nodiscard]] std::size_t write_before(std::string_view text) const noexcept { return write_to(before_, text); }

    [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
    [[nodiscard]] bool is_held() const noexcept { return before_ >= 0; }
    /// Bytes in the open file.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    [[nodiscard]] bool move_away() noexcept;
    [[nodiscard]] static std::size_t write_to(int descriptor, std::string_view text) noexcept;
    static void close_it(int& descriptor) noexcept {
        if (descriptor >= 0) ::close(descriptor);
        descriptor = -1;
    }

    std::string path_;
    int descriptor_{-1};
    int before_{-1};  // the file that was renamed last
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

inline bool RotatedFile::rotate(bool hold) noexcept {
    struct stat status{};
    if (fstat(descriptor_, &status) != 0) return false;
    if (S_ISREG(status.st_mode) && !move_away()) return false;
    close_it(before_);
    if (hold) before_ = std::exchange(descriptor_, -1);
    close_it(descriptor_);
    return true;
}

inline void RotatedFile::keep_newest(std::uint64_t most) const {
    if (most == 0) return;
    const std::filesystem::path path{path_};
    const auto prefix = path.filename().string() + ".";
    std::set<std::uint64_t> numbers;
    std::error_code error;  // who cannot be listed or removed stays
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
    for (const auto& entry : std::filesystem::directory_iterator{folder, error}) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with(prefix)) continue;
        std::uint64_t number = 0;
        const auto* const end = name.data() + name.size();
        const auto read = std::from_chars(name.data() + prefix.size(), end, number);
        if (read.ec == std::errc{} && read.ptr == end) numbers.insert(number);
    }
    for (; numbers.size() > most; numbers.erase(numbers.begin()))
        std::filesystem::remove(path_ + "." + std::to_string(*numbers.begin()), error);
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
    const auto written = write_to(descriptor_, text);
    bytes_ += written;
    return written;
}

inline std::size_t RotatedFile::write_to(int descriptor, std::string_view text) noexcept {
    ssize_t written = 0;
    do written = ::write(descriptor, text.data(), text.size());
    while (written < 0 && errno == EINTR);
    return written < 0 ? 0 : static_cast<std::size_t>(written);
}

}  // namespace millpond::core
