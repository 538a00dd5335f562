#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/mach_packet.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/feed/moldudp64_packet.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/feed/quotes_layout.hpp>

namespace millpond::feed {

/// Which sequence numbers of which session a datagram carries, by its headers.
template <class Session>
struct SequencedDatagram {
    Session session{};
    std::uint64_t first{0};  ///< Of the next message to come where count is 0.
    std::uint64_t count{0};

    [[nodiscard]] std::uint64_t end() const noexcept { return first + count; }
};

/// How a decoder's format numbers its datagrams. `read` gives nothing for what no header can be read of; `is_whole`
/// looks at all of it. A format whose sessions begin with message 1 has `announce`, which writes a heartbeat that says
/// so. Formats without sequence numbers have no Sequencing.
template <class Decoder>
struct Sequencing;

template <class Decoder>
concept Sequenced = requires { typename Sequencing<Decoder>::Session; };

template <>
struct Sequencing<ItchDecoder> {
    using Session = moldudp64_layout::Session;
    static constexpr std::size_t kAnnouncementBytes = moldudp64_layout::kHeaderBytes;

    [[nodiscard]] static std::optional<SequencedDatagram<Session>> read(std::span<const std::byte> bytes) noexcept {
        namespace at = moldudp64_layout;
        if (bytes.size() < at::kHeaderBytes || !at::is_printable(bytes.data() + at::kSessionAt)) return std::nullopt;
        SequencedDatagram<Session> numbers;
        std::memcpy(numbers.session.data(), bytes.data() + at::kSessionAt, numbers.session.size());
        numbers.first = core::load_be<std::uint64_t>(bytes.data() + at::kSequenceAt);
        const auto count = core::load_be<std::uint16_t>(bytes.data() + at::kCountAt);
        numbers.count = count == at::kEndOfSession ? 0 : count;
        if (numbers.first == 0 || numbers.first > std::numeric_limits<std::uint64_t>::max() - 0x1'0000) return {};
        return numbers;
    }
    [[nodiscard]] static bool is_whole(std::span<const std::byte> bytes) noexcept {
        return !MoldUdp64Packet::read(bytes, [](std::span<const std::byte>) {}).error;
    }
    static void announce(const Session& session, std::span<std::byte, kAnnouncementBytes> out) noexcept {
        namespace at = moldudp64_layout;
        std::memcpy(out.data() + at::kSessionAt, session.data(), session.size());
        core::store_be(out.data() + at::kSequenceAt, std::uint64_t{1});
        core::store_be(out.data() + at::kCountAt, std::uint16_t{0});
    }
};

template <>
struct Sequencing<MiaxTomDecoder> {
    using Session = std::uint8_t;

    [[nodiscard]] static std::optional<SequencedDatagram<Session>> read(std::span<const std::byte> bytes) noexcept {
        SequencedDatagram<Session> numbers;
        std::size_t place = 0;
        MachPacket packet;
        while (place < bytes.size() && !next_mach_packet(bytes, place, packet)) {
            if (numbers.first == 0) numbers.session = packet.session;
            if (packet.session != numbers.session) return std::nullopt;
            if (packet.type != miax_tom_layout::kApplicationData) {
                if (numbers.count == 0) numbers.first = packet.sequence + 1;
                continue;
            }
            if (numbers.count == 0) numbers.first = packet.sequence;
            if (packet.sequence < numbers.first) return std::nullopt;
            numbers.count = packet.sequence + 1 - numbers.first;
        }
        if (numbers.first == 0) return std::nullopt;
        return numbers;
    }
};

template <>
struct Sequencing<QuotesDecoder> {
    using Session = QuotesDecoder::Session;

    [[nodiscard]] static std::optional<SequencedDatagram<Session>> read(std::span<const std::byte> bytes) noexcept {
        namespace at = quotes_layout;
        const auto* const data = bytes.data();
        if (bytes.size() < at::kHeaderBytes || core::load_le<std::uint32_t>(data + at::kMagicAt) != at::kMagic)
            return std::nullopt;
        const SequencedDatagram<Session> numbers{
            .session = {.number = core::load_le<std::uint64_t>(data + at::kSessionAt),
                        .channel = core::load_le<std::uint16_t>(data + at::kChannelAt)},
            .first = core::load_le<std::uint64_t>(data + at::kSequenceAt),
            .count = core::load_le<std::uint16_t>(data + at::kCountAt)};
        constexpr auto kLast = std::numeric_limits<std::uint64_t>::max() - at::kMaxQuotes - 1;
        if (numbers.first == 0 || numbers.first > kLast || numbers.count > at::kMaxQuotes) return std::nullopt;
        return numbers;
    }
};

}  // namespace millpond::feed
