#include "capture_format.hpp"

#include <stdexcept>

#include <millpond/core/endian.hpp>
#include <millpond/feed/bbo28_layout.hpp>
#include <millpond/feed/iex_packet.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/feed/mach_packet.hpp>
#include <millpond/feed/moldudp64_packet.hpp>
#include <millpond/feed/quotes_layout.hpp>
#include <millpond/files/pcap_reader.hpp>

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

bool is_iex(std::span<const std::byte> bytes, std::uint16_t protocol) {
    return !feed::IexPacket::read(bytes, protocol, [](auto) {}).error;
}

std::string format_of(std::span<const std::byte> bytes) {
    if (is_quotes(bytes)) return "quotes";
    if (is_iex(bytes, feed::iex_layout::kTops)) return "iex-tops";
    if (is_iex(bytes, feed::iex_layout::kDeep)) return "iex-deep";
    if (is_iex(bytes, feed::iex_layout::kDeepPlus)) return "iex-deep-plus";
    if (is_itch(bytes)) return "itch";
    if (!bytes.empty() && feed::mach_packets_are_whole(bytes, 0)) return "miax-tom";
    return bytes.size() == feed::kBbo28Bytes ? "bbo28" : "";
}

}  // namespace

CaptureLook look_at_capture(const std::string& path, files::Timestamps timestamps) {
    constexpr int kMaxDatagrams = 1'000;
    files::PcapReader reader{path, timestamps};
    files::CapturedDatagram datagram;
    CaptureLook look{};
    for (int seen = 0; seen < kMaxDatagrams && look.format.empty() && reader.next(datagram); ++seen) {
        if (!look.first_utc_ns) look.first_utc_ns = datagram.utc_ns;
        look.format = format_of(datagram.payload);
    }
    return look;
}

files::Timestamps timestamps_named(const std::string& name) {
    if (const auto timestamps = files::timestamps_of(name)) return *timestamps;
    throw std::invalid_argument("timestamps: found '" + name +
                                "', must be auto, capture, metamako, nexus3550, keyframes or arista7280");
}

void note_missing(ErrorList& errors, const std::string& path, const files::PcapReader::Counts& counts) {
    const auto note = [&](std::uint64_t count, const char* what) {
        if (count != 0) errors.add([&] { return "'" + path + "': " + std::to_string(count) + what; });
    };
    note(counts.cut, " datagrams were not kept whole by the capture and are missing");
    note(counts.incomplete, " datagrams are missing because the capture lacks some of their IP fragments");
    note(counts.tunnels, " frames in tunnels that are not read");
    note(counts.untimed, " datagrams without the switch's time, which have the capture's");
    note(counts.degraded, " datagrams with the time of a switch whose clock was not synchronized");
}

}  // namespace millpond::python
