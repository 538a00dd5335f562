#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <millpond/net/detail/descriptor.hpp>

namespace millpond::net::detail {

/// The bytes of a file from first to last, through a buffer that is refilled when it runs out; or of a stretch of
/// memory. Works on pipes too.
class ByteStream {
public:
    /// Throws std::system_error that names the path.
    explicit ByteStream(const std::string& path);
    explicit ByteStream(std::span<const std::byte> bytes) noexcept : window_(bytes), at_end_(true) {}

    /// The next bytes, without taking them: at least `count` unless the file ends before. Valid until the next peek.
    /// count: at most kLongest.
    [[nodiscard]] std::span<const std::byte> peek(std::size_t count);
    /// Takes bytes that peek has shown.
    void take(std::size_t count) noexcept;

    /// Bytes taken so far.
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
    /// errno of a read that failed, after which the stream ends; 0 when none did.
    [[nodiscard]] int read_error() const noexcept { return read_error_; }

    static constexpr std::size_t kLongest = std::size_t{1} << 20;

private:
    void refill();

    Descriptor file_;
    std::vector<std::byte> buffer_;
    std::span<const std::byte> window_;
    std::uint64_t offset_{0};
    int read_error_{0};
    bool at_end_{false};
};

}  // namespace millpond::net::detail
