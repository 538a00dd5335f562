#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <millpond/files/detail/byte_stream.hpp>

namespace millpond::files {

/// Reads the messages of a file in NASDAQ's BinaryFILE framing: each message follows its length, a big-endian u16. The
/// file may be compressed by gzip or zstd. A length of 0 ends the session and the file; bytes after it are damage.
///
/// Threads: one.
/// Memory:  a buffer of 2 MiB, whatever the file's size.
/// Source:  NASDAQ "BinaryFILE" 1.00.
class ItchFileReader {
public:
    /// Throws std::system_error for a file that cannot be read.
    explicit ItchFileReader(const std::string& path);
    /// Reads a file in memory; `name` is used as its path in errors.
    ItchFileReader(std::span<const std::byte> file, std::string name);

    /// Reads the next message, valid until the next call. Returns false at the end and at damage, which error() then
    /// describes.
    [[nodiscard]] bool next(std::span<const std::byte>& message);
    /// Reads the next message and further ones that are in the buffer already, so that the caller can look ahead.
    /// Returns their number; valid until the next call.
    [[nodiscard]] std::size_t next(std::span<std::span<const std::byte>> messages);

    /// Place and kind of the damage; empty if there is none.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }
    [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
    /// Offset in the file of the length of a message returned by the last next(); of a compressed file, in its
    /// contents.
    [[nodiscard]] std::uint64_t byte_of(std::span<const std::byte> message) const noexcept {
        return stream_.offset() + static_cast<std::uint64_t>(message.data() - first_) - kLengthBytes;
    }
    /// Whether the end of the session was found.
    [[nodiscard]] bool complete() const noexcept { return complete_; }
    /// Bytes of the file read so far; of a compressed file, compressed ones.
    [[nodiscard]] std::uint64_t offset() const noexcept {
        return stream_.packed_offset() != 0 ? stream_.packed_offset() : stream_.offset() + shown_;
    }

private:
    static constexpr std::size_t kLengthBytes = 2;

    [[nodiscard]] bool fail(const std::string& what);

    detail::ByteStream stream_;
    std::string name_;
    const std::byte* first_{nullptr};  // length of the first message returned last
    std::size_t shown_{0};             // bytes of the stream in the messages returned last
    std::uint64_t messages_{0};
    bool complete_{false};
    std::string error_;
};

}  // namespace millpond::files
