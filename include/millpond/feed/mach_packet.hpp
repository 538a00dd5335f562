#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/miax_tom_layout.hpp>
#include <millpond/feed/sequenced_datagram.hpp>

namespace millpond::feed {

/// A MACH packet of a datagram; `message` is the part after its header.
struct MachPacket {
    std::span<const std::byte> message;
    std::uint64_t sequence{0};
    std::uint8_t type{0};
    std::uint8_t session{0};

    /// True for application data and for unknown types.
    [[nodiscard]] bool has_message() const noexcept { return type >= miax_tom_layout::kApplicationData; }
};

/// Reads the packet at byte `place` of the datagram and moves `place` past it. An error changes neither, and the
/// packets after it cannot be found.
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

/// True if the datagram consists of valid packets from byte `place` on.
[[nodiscard]] inline bool mach_packets_are_whole(std::span<const std::byte> datagram, std::size_t place) noexcept {
    MachPacket packet;
    while (place < datagram.size()) {
        if (next_mach_packet(datagram, place, packet)) return false;
    }
    return true;
}

/// Sequence numbers of the datagram's complete packets; nullopt if there are none, or if they are of several sessions
/// or out of order.
[[nodiscard]] inline std::optional<SequencedDatagram<std::uint8_t>> read_mach_numbers(
    std::span<const std::byte> datagram) noexcept {
    SequencedDatagram<std::uint8_t> numbers;
    std::size_t place = 0;
    MachPacket packet;
    while (place < datagram.size() && !next_mach_packet(datagram, place, packet)) {
        if (numbers.first == 0) numbers.session = packet.session;
        if (packet.session != numbers.session) return std::nullopt;
        if (packet.type != miax_tom_layout::kApplicationData) {
            if (numbers.count == 0) numbers.first = packet.sequence + 1;
            numbers.ends = numbers.ends || packet.type == miax_tom_layout::kEndOfSession;
            continue;
        }
        if (numbers.count == 0) numbers.first = packet.sequence;
        if (packet.sequence < numbers.first) return std::nullopt;
        numbers.count = packet.sequence + 1 - numbers.first;
    }
    if (numbers.first == 0) return std::nullopt;
    return numbers;
}

}  // namespace millpond::feed
