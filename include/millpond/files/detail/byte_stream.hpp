#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::files::detail {

class Expander;

/// Reads the bytes of a file, a pipe or a range of memory in order, through a buffer. After fork both processes may
/// continue to read a regular file. A gzip or zstd file, detected by its first bytes, is decompressed: offsets then
/// refer to its contents.
class ByteStream {
public:
    /// Throws std::system_error that names the path.
    explicit ByteStream(const std::string& path);
    explicit ByteStream(std::span<const std::byte> bytes) noexcept;
    ByteStream(ByteStream&&) noexcept;
    ByteStream& operator=(ByteStream&&) noexcept;
    ~ByteStream();

    /// Returns the next bytes without consuming them: at least `count` unless the file ends before. Valid until the
    /// next peek. count: at most kMaxPeek.
    [[nodiscard]] std::span<const std::byte> peek(std::size_t count);
    /// Consumes bytes that peek has returned.
    void consume(std::size_t count) noexcept;

    /// Bytes consumed so far.
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
    /// Compressed bytes read so far; 0 for a file that is not compressed.
    [[nodiscard]] std::uint64_t packed_offset() const noexcept { return packed_offset_; }
    /// errno of a failed read, after which the stream ends; 0 if none failed.
    [[nodiscard]] int read_error() const noexcept { return read_error_; }
    /// Reason why the data ends early, and at which byte, once all bytes before it have been returned; otherwise empty.
    /// Compressed data may be damaged, and a file may become shorter while it is read.
    [[nodiscard]] const std::string& damage() const noexcept { return damage_; }

    static constexpr std::size_t kMaxPeek = std::size_t{1} << 20;

private:
    void refill();
    [[nodiscard]] std::size_t read(std::span<std::byte> into);
    void begin_expanding();
    void expand();
    void end();

    core::Descriptor file_;
    off_t read_at_{0};
    off_t opened_bytes_{0};  // size of a regular file when it was opened
    std::vector<std::byte> buffer_;
    std::span<const std::byte> window_;
    std::vector<std::byte> packed_buffer_;
    std::span<const std::byte> packed_;  // compressed bytes that the expander has not consumed
    std::unique_ptr<Expander> expander_;
    std::uint64_t offset_{0};
    std::uint64_t packed_offset_{0};
    std::string damage_;
    int read_error_{0};
    bool is_regular_{false};
    bool started_{false};
    bool at_end_{false};
};

}  // namespace millpond::files::detail
