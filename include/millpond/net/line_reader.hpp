#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <millpond/net/detail/byte_stream.hpp>

namespace millpond::net {

/// Reads the lines of a text file, compressed by gzip or zstd or not.
///
/// Threads: one.
/// Memory:  a buffer of 2 MiB and a line of at most 4 MiB, whatever the file's size; the decompressor's window.
class LineReader {
public:
    static constexpr std::size_t kLongestLine = std::size_t{4} << 20;

    enum class Outcome : std::uint8_t {
        line,
        too_long,  ///< The next line has more than kLongestLine bytes: it is left out.
        again,     ///< A stretch of that line was passed over: call again.
        end,       ///< End of the file; error() shows whether it is truncated.
    };

    /// Throws std::system_error for a file that cannot be read.
    explicit LineReader(const std::string& path) : stream_(path) {}

    /// The next line, without its end "\n" or "\r\n", valid until the next call. The last one may have no end.
    [[nodiscard]] Outcome next(std::string_view& line);

    /// Bytes of the file's contents read so far; of a compressed file, decompressed ones.
    [[nodiscard]] std::uint64_t offset() const noexcept { return stream_.offset() + shown_; }
    /// Why the file ends early; empty when it does not.
    [[nodiscard]] std::string error() const;

private:
    detail::ByteStream stream_;
    std::size_t shown_{0};     // bytes of the stream that belong to the line handed out last
    std::string long_line_;    // one that the stream cannot show at once
    bool passes_over_{false};  // within a line that is too long
};

}  // namespace millpond::net
