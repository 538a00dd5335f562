#include "apps/millpond/traffic/traffic_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/core/whole_file.hpp>
#include <millpond/feed/moldudp64_packet.hpp>
#include <millpond/files/pcap_writer.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::traffic {
namespace {

std::uint64_t append_messages(std::string& out, std::span<const std::byte> datagram) {
    std::uint64_t messages = 0;
    const auto packet = feed::MoldUdp64Packet::read(datagram, [&](std::span<const std::byte> message) {
        if (message.empty()) return;
        out += static_cast<char>(message.size() >> 8U);
        out += static_cast<char>(message.size() & 0xFFU);
        out.append(reinterpret_cast<const char*>(message.data()), message.size());
        ++messages;
    });
    if (packet.error) throw std::runtime_error("a generated datagram is not a MoldUDP64 packet");
    return messages;
}

template <class Number>
void append_native(std::string& out, Number number) {
    std::array<char, sizeof number> bytes{};
    std::memcpy(bytes.data(), &number, sizeof number);
    out.append(bytes.data(), bytes.size());
}

/// Appends a block of a pcapng file (draft-ietf-opsawg-pcapng). body: a multiple of four bytes.
void append_block(std::string& out, std::uint32_t type, std::string_view body) {
    constexpr std::uint32_t kFrameBytes = 12;
    append_native(out, type);
    append_native(out, static_cast<std::uint32_t>(body.size()) + kFrameBytes);
    out += body;
    append_native(out, static_cast<std::uint32_t>(body.size()) + kFrameBytes);
}

constexpr std::uint32_t kInterfaces = 2;

/// Appends the section header, and the descriptions of interfaces of raw IP with times in nanoseconds.
void append_pcapng_header(std::string& out) {
    std::string section;
    append_native(section, std::uint32_t{0x1A2B'3C4D});
    append_native(section, std::uint16_t{1});
    append_native(section, std::uint16_t{0});
    append_native(section, std::int64_t{-1});  // length of the section: not known
    append_block(out, 0x0A0D'0D0A, section);
    for (std::uint32_t i = 0; i < kInterfaces; ++i) {
        std::string interface;
        append_native(interface, std::uint16_t{101});
        append_native(interface, std::uint16_t{0});
        append_native(interface, std::uint32_t{65'535});
        append_native(interface, std::uint16_t{2});  // name
        append_native(interface, std::uint16_t{4});
        interface += i == 0 ? "p1p1" : "p1p2";
        append_native(interface, std::uint16_t{9});  // resolution of times
        append_native(interface, std::uint16_t{1});
        interface += std::string_view{"\x09\0\0\0", 4};
        append_native(interface, std::uint32_t{0});  // end of options
        append_block(out, 1, interface);
    }
}

bool append_pcapng_datagram(std::string& out, std::uint64_t number, const files::CapturedDatagram& datagram) {
    constexpr std::size_t kRecordBytes = 16;  // of the header that pcap has before a packet
    std::string packet;
    if (!files::append_pcap_datagram(packet, datagram)) return false;
    packet.erase(0, kRecordBytes);
    const auto size = static_cast<std::uint32_t>(packet.size());
    const auto time = static_cast<std::uint64_t>(datagram.utc_ns);
    packet.resize((packet.size() + 3) / 4 * 4);
    std::string body;
    append_native(body, static_cast<std::uint32_t>(number % kInterfaces));
    append_native(body, static_cast<std::uint32_t>(time >> 32U));
    append_native(body, static_cast<std::uint32_t>(time));
    append_native(body, size);
    append_native(body, size);
    append_block(out, 6, body + packet);
    return true;
}

}  // namespace

Written write_traffic(Source& source, const std::string& path, const FileOptions& options,
                      const std::atomic<bool>& stop) {
    constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
    const auto from = net::SocketAddress::parse("127.0.0.1:1");
    const auto to = net::SocketAddress::parse("239.1.1.1:14000");
    core::WholeFile file{path};
    std::string bytes;
    Written written;
    if (options.kind == TrafficFile::pcap) files::append_pcap_header(bytes);
    if (options.kind == TrafficFile::pcapng) append_pcapng_header(bytes);
    Outgoing out;
    while (!stop.load(std::memory_order_relaxed) && source.next(out)) {
        ++written.datagrams;
        if (options.kind == TrafficFile::messages) {
            written.messages += append_messages(bytes, out.bytes);
        } else {
            written.messages += out.messages;
            const files::CapturedDatagram datagram{
                .utc_ns = options.begin_utc_ns + out.due_ns, .source = from, .destination = to, .payload = out.bytes};
            const bool fits = options.kind == TrafficFile::pcapng
                                  ? append_pcapng_datagram(bytes, written.datagrams, datagram)
                                  : files::append_pcap_datagram(bytes, datagram);
            if (!fits)
                throw std::runtime_error("a datagram of " + std::to_string(out.bytes.size()) +
                                         " bytes does not fit into a capture");
        }
        if (bytes.size() < kFlushBytes) continue;
        file.write(bytes);
        written.bytes += bytes.size();
        bytes.clear();
    }
    if (!source.error().empty()) throw std::runtime_error(source.error());
    if (stop.load(std::memory_order_relaxed)) return written;
    file.write(bytes);
    written.bytes += bytes.size();
    file.commit();
    written.complete = true;
    return written;
}

}  // namespace millpond::traffic
