#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <millpond/files/detail/byte_stream.hpp>

namespace millpond::files {

/// Reads the lines of a text file, compressed by gzip or zstd or not.
///
/// Threads: one.
/// Memory:  a buffer of 2 MiB and a line of at most 4 MiB, whatever the file's size; the decompressor's window.
class LineReader {
public:
    static constexpr std::size_t kMaxLine = std::size_t{4} << 20;

    enum class Outcome : std::uint8_t {
        line,
        too_long,  ///< The next line has more than kMaxLine bytes: it is skipped.
        again,     ///< A part of the long line was skipped: call again.
        end,       ///< End of the file; error() shows whether it is truncated.
    };

    /// Throws std::system_error for a file that cannot be read.
    explicit LineReader(const std::string& path) : stream_(path) {}

    /// Reads the next line, without its end "
    /// " or "\r
    /// "; valid until the next call. The last line needs no end.
    [[nodiscard]] Outcome next(std::string_view& line);

    /// Bytes of the file's contents read so far; of a compressed file, decompressed ones.
    [[nodiscard]] std::uint64_t offset() const noexcept { return stream_.offset() + shown_; }
    /// Reason why the file ends early; empty if it does not.
    [[nodiscard]] std::string error() const;

private:
    detail::ByteStream stream_;
    std::size_t shown_{0};   // bytes of the stream in the line returned last
    std::string long_line_;  // a line that is longer than a peek
    bool skips_{false};      // within a line that is too long
};

}  // namespace millpond::files
