#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/files/file_format_error.hpp>
#include <millpond/files/pcap_reader.hpp>
#include <millpond/net/udp_packet.hpp>

#include "fuzz/fuzz_target.hpp"

namespace {

using namespace millpond;

/// A capture with the frame, twice, captured at a time near to the trailers of write_corpus.
std::vector<std::byte> capture_of(net::LinkType link, std::span<const std::byte> frame) {
    std::vector<std::byte> file(24);
    core::store_le(file.data(), std::uint32_t{0xA1B23C4D});
    core::store_le(&file[20], static_cast<std::uint32_t>(std::to_underlying(link)));
    for (int copy = 0; copy < 2; ++copy) {
        constexpr std::uint32_t kSeconds = 1'527'552'589;
        std::array<std::byte, 16> header{};
        core::store_le(header.data(), kSeconds);
        core::store_le(&header[8], static_cast<std::uint32_t>(frame.size()));
        core::store_le(&header[12], static_cast<std::uint32_t>(frame.size()));
        file.insert(file.end(), header.begin(), header.end());
        file.insert(file.end(), frame.begin(), frame.end());
    }
    return file;
}

}  // namespace

/// Arbitrary bytes as a frame, the first byte as its kind: packets and datagrams lie inside the frame, and the times of
/// switches are read from its end.
MILLPOND_FUZZ_TARGET {
    using net::LinkType;
    constexpr std::array kLinks{LinkType::ethernet, LinkType::raw_ip, LinkType::linux_cooked,
                                LinkType::ipv4,     LinkType::ipv6,   LinkType::linux_cooked_v2};
    if (input.empty()) return;
    const auto link = kLinks[std::to_integer<std::size_t>(input[0]) % kLinks.size()];
    const auto frame = input.subspan(1);
    const auto is_inside = [&](std::span<const std::byte> part) {
        return part.data() >= frame.data() && part.data() + part.size() <= frame.data() + frame.size();
    };
    const auto packet = net::find_ip(link, frame);
    if (packet) {
        feed::require_kept(is_inside(packet->payload) ? "" : "an IP packet's payload lies inside the frame");
        feed::require_kept(packet->payload.size() <= packet->length ? "" : "a payload is not longer than it says");
    }
    if (const auto datagram = net::find_udp(link, frame)) {
        feed::require_kept(packet ? "" : "a datagram is in an IP packet");
        feed::require_kept(is_inside(datagram->payload) ? "" : "a datagram's payload lies inside the frame");
        const auto* const end = packet->payload.data() + packet->payload.size();
        const bool before_end = datagram->payload.data() + datagram->payload.size() <= end;
        feed::require_kept(before_end ? "" : "a datagram ends with its packet");
    }
    net::Encapsulations opened;
    if (const auto inner = net::find_inner(link, frame, opened)) {
        feed::require_kept(is_inside(inner->payload) ? "" : "an inner packet's payload lies inside the frame");
        feed::require_kept(opened.packet_end <= frame.size() ? "" : "the outer packet ends in the frame");
        if (const auto datagram = net::find_udp(*inner))
            feed::require_kept(is_inside(datagram->payload) ? "" : "an inner datagram lies inside the frame");
    }
    if (frame.size() > 65'535) return;
    const auto file = capture_of(link, frame);
    for (const auto& [name, timestamps] : files::kTimestampsNames) {
        try {
            files::PcapReader reader{file, "fuzz", timestamps};
            files::CapturedDatagram datagram;
            while (reader.next(datagram)) feed::require_kept(datagram.utc_ns >= 0 ? "" : "a time is not negative");
            const auto& counts = reader.counts();
            feed::require_kept(counts.untimed <= counts.datagrams ? "" : "each datagram is untimed once at most");
        } catch (const files::FileFormatError&) {  // no packet has such times
        }
    }
}
