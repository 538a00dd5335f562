#include "file_kind.hpp"

#include <millpond/core/endian.hpp>
#include <millpond/feed/bbo28_layout.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/feed/mach_packet.hpp>
#include <millpond/feed/moldudp64_packet.hpp>
#include <millpond/feed/quotes_layout.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/net/pcap_reader.hpp>

namespace millpond::python {
namespace {

bool is_quotes(std::span<const std::byte> bytes) {
    return bytes.size() >= feed::quotes_layout::kHeaderBytes &&
           core::load_le<std::uint32_t>(bytes.data() + feed::quotes_layout::kMagicAt) == feed::quotes_layout::kMagic;
}

bool is_itch(std::span<const std::byte> bytes) {
    bool known = true;
    const auto packet = feed::MoldUdp64Packet::read(bytes, [&](std::span<const std::byte> message) {
        const auto type = message.empty() ? '\0' : static_cast<char>(message[0]);
        known = known && message.size() == feed::itch_layout::message_bytes(type);
    });
    return !packet.error && packet.messages != 0 && known;
}

std::string format_of(std::span<const std::byte> bytes) {
    if (is_quotes(bytes)) return "quotes";
    if (is_itch(bytes)) return "itch";
    if (!bytes.empty() && feed::mach_packets_are_whole(bytes, 0)) return "miax-tom";
    return bytes.size() == feed::kBbo28Bytes ? "bbo28" : "";
}

}  // namespace

std::string file_kind(std::span<const std::byte> begin) {
    if (begin.size() < kFileKindBytes) return {};
    if (core::load_le<std::uint64_t>(begin.data()) == journal::kMagic) return "journal";
    if (net::PcapReader::is_capture(begin.first<4>())) return "capture";
    const std::size_t length = core::load_be<std::uint16_t>(begin.data());
    const bool itch = length != 0 && length == feed::itch_layout::message_bytes(static_cast<char>(begin[2]));
    return itch ? "itch" : std::string{};
}

CaptureLook look_at_capture(const std::string& path) {
    constexpr int kMostDatagrams = 1'000;
    net::PcapReader reader{path};
    net::CapturedDatagram datagram;
    CaptureLook look{};
    for (int seen = 0; seen < kMostDatagrams && look.format.empty() && reader.next(datagram); ++seen) {
        if (!look.first_utc_ns) look.first_utc_ns = datagram.utc_ns;
        look.format = format_of(datagram.payload);
    }
    return look;
}

}  // namespace millpond::python
