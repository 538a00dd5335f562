#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/miax_tom_layout.hpp>

namespace millpond::feed {

/// One MACH packet of a datagram; `message` is what stands behind its header.
struct MachPacket {
    std::span<const std::byte> message;
    std::uint64_t sequence{0};
    std::uint8_t type{0};
    std::uint8_t session{0};

    /// True for application data and for types that are not known.
    [[nodiscard]] bool has_message() const noexcept { return type >= miax_tom_layout::kApplicationData; }
};

/// Reads the packet that begins at byte `place` of the datagram and moves `place` behind it; an error leaves both as
/// they were, and nothing behind it can be found.
[[nodiscard]] inline std::optional<DecodeError> next_mach_packet(std::span<const std::byte> datagram,
                                                                 std::size_t& place, MachPacket& packet) noexcept {
    namespace at = miax_tom_layout;
    using enum DecodeErrorKind;
    constexpr auto kLast = std::numeric_limits<std::uint64_t>::max() - 2;
    const auto bytes = datagram.subspan(place);
    if (bytes.size() < at::kHeaderBytes) return DecodeError{truncated, place, bytes.size(), at::kHeaderBytes};
    const std::size_t length = core::load_le<std::uint16_t>(bytes.data() + at::kLengthAt);
    const auto sequence = core::load_le<std::uint64_t>(bytes.data() + at::kSequenceAt);
    if (length < at::kHeaderBytes) return DecodeError{bad_length, place + at::kLengthAt, length, at::kHeaderBytes};
    if (length > bytes.size()) return DecodeError{truncated, place + at::kLengthAt, bytes.size(), length};
    if (sequence > kLast) return DecodeError{bad_sequence, place + at::kSequenceAt, sequence, kLast};
    packet.message = bytes.subspan(at::kHeaderBytes, length - at::kHeaderBytes);
    packet.sequence = sequence;
    packet.type = static_cast<std::uint8_t>(bytes[at::kPacketTypeAt]);
    packet.session = static_cast<std::uint8_t>(bytes[at::kSessionAt]);
    place += length;
    return std::nullopt;
}

/// True when the datagram consists of whole packets from byte `place` on.
[[nodiscard]] inline bool mach_packets_are_whole(std::span<const std::byte> datagram, std::size_t place) noexcept {
    MachPacket packet;
    while (place < datagram.size()) {
        if (next_mach_packet(datagram, place, packet)) return false;
    }
    return true;
}

}  // namespace millpond::feed
