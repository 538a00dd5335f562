#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/moldudp64_layout.hpp>

namespace millpond::feed {

/// A MoldUDP64 datagram (moldudp64_layout.hpp), its blocks checked but not yet read.
///
/// `error` is set if the datagram is invalid. Its first `messages` blocks are complete even then; the others count as
/// missing.
struct MoldUdp64Packet {
    moldudp64_layout::Session session{};
    std::uint64_t sequence{0};
    std::uint16_t messages{0};
    bool end_of_session{false};
    std::size_t end{0};  ///< Offset after the last complete block.
    std::optional<DecodeError> error{};

    /// False if not even the header could be read.
    [[nodiscard]] bool has_header() const noexcept { return end != 0; }

    /// Calls visit(message) for each complete block while it checks them.
    template <class Visitor>
    [[nodiscard]] static MoldUdp64Packet read(std::span<const std::byte> datagram, Visitor&& visit) noexcept;
};

/// Moves `place` past the block that begins there, which must be complete.
[[nodiscard]] inline std::span<const std::byte> next_block(std::span<const std::byte> datagram,
                                                           std::size_t& place) noexcept {
    const auto length = core::load_be<std::uint16_t>(datagram.data() + place);
    const auto message = datagram.subspan(place + moldudp64_layout::kLengthBytes, length);
    place += moldudp64_layout::kLengthBytes + length;
    return message;
}

template <class Visitor>
MoldUdp64Packet MoldUdp64Packet::read(std::span<const std::byte> datagram, Visitor&& visit) noexcept {
    namespace at = moldudp64_layout;
    using enum DecodeErrorKind;
    MoldUdp64Packet packet;
    const auto size = datagram.size();
    if (size < at::kHeaderBytes) {
        packet.error = DecodeError{truncated, 0, size, at::kHeaderBytes};
        return packet;
    }
    std::memcpy(packet.session.data(), datagram.data() + at::kSessionAt, packet.session.size());
    if (!at::is_printable(datagram.data() + at::kSessionAt)) {
        const auto is_bad = [](char c) { return c < 0x20 || c > 0x7E; };
        const auto* const bad = std::ranges::find_if(packet.session, is_bad);
        packet.error = DecodeError{bad_session, at::kSessionAt + static_cast<std::size_t>(bad - packet.session.data()),
                                   static_cast<std::uint8_t>(*bad), 0x7E};
        return packet;
    }
    packet.sequence = core::load_be<std::uint64_t>(datagram.data() + at::kSequenceAt);
    constexpr auto kLast = std::numeric_limits<std::uint64_t>::max() - 0x1'0000;
    if (packet.sequence == 0 || packet.sequence > kLast) {
        packet.error = DecodeError{bad_sequence, at::kSequenceAt, packet.sequence, kLast};
        return packet;
    }
    packet.end = at::kHeaderBytes;
    const auto count = core::load_be<std::uint16_t>(datagram.data() + at::kCountAt);
    packet.end_of_session = count == at::kEndOfSession;
    const auto blocks = packet.end_of_session ? std::uint16_t{0} : count;
    for (; packet.messages < blocks; ++packet.messages) {
        const auto left = size - packet.end;
        if (left < at::kLengthBytes) {
            packet.error = DecodeError{truncated, packet.end, left, at::kLengthBytes};
            return packet;
        }
        const std::size_t length = core::load_be<std::uint16_t>(datagram.data() + packet.end);
        if (left - at::kLengthBytes < length) {
            packet.error = DecodeError{truncated, packet.end, left - at::kLengthBytes, length};
            return packet;
        }
        visit(next_block(datagram, packet.end));
    }
    if (packet.end != size) packet.error = DecodeError{oversized, packet.end, size, packet.end};
    return packet;
}

}  // namespace millpond::feed
