#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/iex_layout.hpp>

namespace millpond::feed {

/// Session of an IEX feed's channel.
struct IexSession {
    std::uint32_t number{0};
    std::uint32_t channel{0};
    friend bool operator==(const IexSession&, const IexSession&) = default;
};

/// An IEX-TP segment (iex_layout.hpp), its blocks checked but not yet read.
///
/// `error` is set if the datagram is invalid. Its first `messages` blocks are complete even then; the others count as
/// missing.
struct IexPacket {
    IexSession session{};
    std::uint64_t sequence{0};
    std::uint16_t messages{0};
    std::size_t end{0};  ///< Offset after the last complete block; 0 if not even the header could be read.
    std::optional<DecodeError> error{};

    [[nodiscard]] bool has_header() const noexcept { return end != 0; }

    /// Calls visit(message) for each complete block while it checks them. protocol: the expected message protocol.
    template <class Visitor>
    [[nodiscard]] static IexPacket read(std::span<const std::byte> datagram, std::uint16_t protocol,
                                        Visitor&& visit) noexcept;
    /// Reads the header into `packet`; `messages` is then the count of the header, and `end` the header's end.
    [[nodiscard]] static std::optional<DecodeError> read_header(std::span<const std::byte> datagram,
                                                                std::uint16_t protocol, IexPacket& packet) noexcept;
};

/// Length of the segment that begins with these bytes; nullopt if more are needed to know it.
[[nodiscard]] inline std::optional<std::size_t> iex_segment_length(std::span<const std::byte> bytes) noexcept {
    namespace at = iex_layout;
    if (bytes.size() < at::kHeaderBytes) return std::nullopt;
    return at::kHeaderBytes + core::load_le<std::uint16_t>(bytes.data() + at::kPayloadAt);
}

/// Moves `place` past the block that begins there, which must be complete.
[[nodiscard]] inline std::span<const std::byte> next_iex_block(std::span<const std::byte> datagram,
                                                               std::size_t& place) noexcept {
    const auto length = core::load_le<std::uint16_t>(datagram.data() + place);
    const auto message = datagram.subspan(place + iex_layout::kLengthBytes, length);
    place += iex_layout::kLengthBytes + length;
    return message;
}

inline std::optional<DecodeError> IexPacket::read_header(std::span<const std::byte> datagram, std::uint16_t protocol,
                                                         IexPacket& packet) noexcept {
    namespace at = iex_layout;
    using enum DecodeErrorKind;
    constexpr auto kLast = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - 0x1'0000;
    const auto size = datagram.size();
    const auto* const bytes = datagram.data();
    if (size < at::kHeaderBytes) return DecodeError{truncated, 0, size, at::kHeaderBytes};
    const auto version = static_cast<std::uint8_t>(bytes[at::kVersionAt]);
    if (version != at::kVersion) return DecodeError{bad_version, at::kVersionAt, version, at::kVersion};
    const auto found = core::load_le<std::uint16_t>(bytes + at::kProtocolAt);
    if (found != protocol) return DecodeError{bad_magic, at::kProtocolAt, found, protocol};
    packet.sequence = core::load_le<std::uint64_t>(bytes + at::kSequenceAt);
    if (packet.sequence == 0 || packet.sequence > kLast)
        return DecodeError{bad_sequence, at::kSequenceAt, packet.sequence, kLast};
    packet.session = {.number = core::load_le<std::uint32_t>(bytes + at::kSessionAt),
                      .channel = core::load_le<std::uint32_t>(bytes + at::kChannelAt)};
    packet.messages = core::load_le<std::uint16_t>(bytes + at::kCountAt);
    packet.end = at::kHeaderBytes;
    return std::nullopt;
}

template <class Visitor>
IexPacket IexPacket::read(std::span<const std::byte> datagram, std::uint16_t protocol, Visitor&& visit) noexcept {
    namespace at = iex_layout;
    using enum DecodeErrorKind;
    IexPacket packet;
    packet.error = read_header(datagram, protocol, packet);
    if (packet.error) return packet;
    const auto count = packet.messages;
    const auto size = datagram.size();
    packet.messages = 0;
    for (; packet.messages < count; ++packet.messages) {
        const auto left = size - packet.end;
        if (left < at::kLengthBytes) {
            packet.error = DecodeError{truncated, packet.end, left, at::kLengthBytes};
            return packet;
        }
        const std::size_t length = core::load_le<std::uint16_t>(datagram.data() + packet.end);
        if (left - at::kLengthBytes < length) {
            packet.error = DecodeError{truncated, packet.end, left - at::kLengthBytes, length};
            return packet;
        }
        visit(next_iex_block(datagram, packet.end));
    }
    const std::size_t payload = core::load_le<std::uint16_t>(datagram.data() + at::kPayloadAt);
    if (packet.end != size) {
        packet.error = DecodeError{oversized, packet.end, size, packet.end};
    } else if (payload != size - at::kHeaderBytes) {
        packet.error = DecodeError{bad_length, at::kPayloadAt, payload, size - at::kHeaderBytes};
    }
    return packet;
}

}  // namespace millpond::feed
