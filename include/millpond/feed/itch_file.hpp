#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decode_result.hpp>

namespace millpond::feed {

/// Reads the message that begins at byte `place` of an ITCH file, in which each stands behind a big-endian u16 length,
/// and moves `place` behind it. An error leaves both as they were: the file ends in the middle of a message.
[[nodiscard]] inline std::optional<DecodeError> next_itch_record(std::span<const std::byte> file, std::size_t& place,
                                                                 std::span<const std::byte>& message) noexcept {
    constexpr std::size_t kLengthBytes = 2;
    const auto left = file.size() - place;
    if (left < kLengthBytes) return DecodeError{DecodeErrorKind::truncated, place, left, kLengthBytes};
    const std::size_t length = core::load_be<std::uint16_t>(file.data() + place);
    if (left - kLengthBytes < length) {
        return DecodeError{DecodeErrorKind::truncated, place, left - kLengthBytes, length};
    }
    message = file.subspan(place + kLengthBytes, length);
    place += kLengthBytes + length;
    return std::nullopt;
}

}  // namespace millpond::feed
