#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millpond::gateway::csv {

/// A file that is renamed to PATH.1, PATH.2, ... when it is full, the highest number being the newest.
///
/// Threads: one.
class RotatedFile {
public:
    explicit RotatedFile(std::string path) : path_(std::move(path)) {}
    ~RotatedFile();
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
    void close_it() noexcept;

    std::string path_;
    int descriptor_{-1};
    std::uint64_t bytes_{0};
    std::uint64_t next_number_{1};
};

}  // namespace millpond::gateway::csv
