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
#include <millpond/feed/sequenced_datagram.hpp>

namespace millpond::feed {

/// How a decoder's format numbers its datagrams. `read` gives nothing for what no header can be read of; `is_whole`
/// looks at all of it. A format whose sessions begin with message 1 has `announce`, which writes a heartbeat that says
/// so. A format with several channels in one group has `same_channel`. Formats without sequence numbers have no
/// Sequencing.
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
        numbers.ends = count == at::kEndOfSession;
        numbers.count = numbers.ends ? 0 : count;
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
        return read_mach_numbers(bytes);
    }
    [[nodiscard]] static bool is_whole(std::span<const std::byte> bytes) noexcept {
        return mach_packets_are_whole(bytes, 0);
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
    [[nodiscard]] static bool is_whole(std::span<const std::byte> bytes) noexcept {
        return QuotesDecoder::is_whole(bytes);
    }
    [[nodiscard]] static bool same_channel(const Session& left, const Session& right) noexcept {
        return left.channel == right.channel;
    }
};

}  // namespace millpond::feed
