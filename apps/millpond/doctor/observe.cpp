#include "apps/millpond/doctor/observe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/net/udp_packet.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "apps/millpond/doctor/kernel_text.hpp"
#include "gateway/receive/receiver_options.hpp"
#include "service/stdio_pipe.hpp"

namespace millpond::app::doctor {
namespace {

constexpr std::uint64_t kEnoughDatagrams = 50;  // decoded or rejected datagrams that end the observation

std::string contents_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

std::string output_of(const char* command) {
    std::string text;
    const service::StdioPipe pipe{popen(command, "r")};
    if (!pipe) return text;
    std::array<char, 4'096> buffer{};
    for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe.get())) != 0;)
        text.append(buffer.data(), got);
    return text;
}

core::Descriptor open_socket(int family, int type, int protocol) {
    return core::Descriptor{::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol)};
}

void inspect_interface(FeedFacts& facts) {
    if (facts.interface.empty()) return;
    const auto socket = open_socket(AF_INET, SOCK_DGRAM, 0);
    ifreq request{};
    facts.interface.copy(request.ifr_name, IFNAMSIZ - 1);
    facts.interface_exists = ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0;
    if (!facts.interface_exists) return;
    facts.interface_up = (request.ifr_flags & IFF_UP) != 0;
    facts.carrier = (request.ifr_flags & IFF_RUNNING) != 0;
    const auto filter = [](const std::string& of) {
        return std::atoi(contents_of("/proc/sys/net/ipv4/conf/" + of + "/rp_filter").c_str());
    };
    facts.rp_filter = std::max(filter("all"), filter(facts.interface));
}

/// Decodes datagrams and counts the results; discards the events.
class ProbeDecoder {
public:
    explicit ProbeDecoder(const gateway::FeedFormat& format) : decode_(format.probe(instruments_)) {}

    void decode(std::span<const std::byte> bytes, FeedFacts& facts) {
        const auto result = decode_(bytes);
        if (result.ok()) {
            ++facts.decoded;
            return;
        }
        if (facts.rejected++ != 0) return;
        const auto& error = *result.error;
        facts.first_error = fmt::format("{} at byte {}: found {:#x}, bound {:#x}", feed::to_string(error.kind),
                                        error.offset, error.found, error.bound);
        constexpr std::size_t kShown = 64;
        for (const auto byte : bytes.first(std::min(bytes.size(), kShown))) {
            facts.first_rejected_hex += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
        }
        if (bytes.size() > kShown) facts.first_rejected_hex += fmt::format("... ({} bytes)", bytes.size());
    }

private:
    feed::InstrumentTable instruments_{16'384};
    gateway::FeedFormat::Probe decode_;
};

/// Receives the frames of all interfaces, before any filter of the kernel.
class LinkWatch {
public:
    explicit LinkWatch(const FeedFacts& facts) : socket_(open_socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL))) {
        interface_ = facts.interface.empty() ? 0 : static_cast<int>(if_nametoindex(facts.interface.c_str()));
        const int on = 1;
        if (socket_) setsockopt(socket_.get(), SOL_PACKET, PACKET_AUXDATA, &on, sizeof on);
    }
    [[nodiscard]] int get() const noexcept { return socket_.get(); }

    /// Reads the queued frames. decoder: decodes the payloads; null if the datagrams of a socket are decoded instead.
    void read_frames(FeedFacts& facts, ProbeDecoder* decoder) {
        std::array<std::byte, 65'536> frame;
        for (;;) {
            sockaddr_ll from{};
            iovec part{frame.data(), frame.size()};
            alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata))> control{};
            msghdr message{};
            message.msg_name = &from;
            message.msg_namelen = sizeof from;
            message.msg_iov = &part;
            message.msg_iovlen = 1;
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            const auto got = recvmsg(socket_.get(), &message, MSG_DONTWAIT);
            if (got < 0) return;
            if (from.sll_pkttype == PACKET_OUTGOING) continue;
            const bool ethernet = from.sll_hatype == ARPHRD_ETHER || from.sll_hatype == ARPHRD_LOOPBACK;
            const auto packet = net::find_udp(ethernet ? net::LinkType::ethernet : net::LinkType::raw_ip,
                                              std::span{frame}.first(static_cast<std::size_t>(got)));
            if (!packet || packet->destination.port() != facts.listen.port()) continue;
            if (!facts.listen.is_wildcard() && packet->destination.host() != facts.listen.host()) continue;
            note(facts, from, tag_of(message), *packet);
            if (decoder != nullptr) decoder->decode(packet->payload, facts);
        }
    }

private:
    static std::uint16_t tag_of(msghdr& message) {
        for (auto* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
            if (one->cmsg_level != SOL_PACKET || one->cmsg_type != PACKET_AUXDATA) continue;
            const auto* data = reinterpret_cast<const tpacket_auxdata*>(CMSG_DATA(one));
            constexpr std::uint16_t kNumber = 0x0FFF;
            if ((data->tp_status & TP_STATUS_VLAN_VALID) != 0) return data->tp_vlan_tci & kNumber;
        }
        return 0;
    }

    void note(FeedFacts& facts, const sockaddr_ll& from, std::uint16_t tag, const net::UdpPacket& packet) const {
        if (interface_ != 0 && from.sll_ifindex != interface_) {
            std::array<char, IF_NAMESIZE> name{};
            ++facts.on_other_link;
            if (if_indextoname(static_cast<unsigned>(from.sll_ifindex), name.data()) != nullptr)
                facts.other_interface = name.data();
            return;
        }
        if (facts.on_link++ == 0) facts.sender = packet.source;
        if (tag != 0) facts.vlan = tag;
    }

    core::Descriptor socket_;
    int interface_{0};
};

/// Connects to the server, without a login: a second one could end that of the gateway.
FeedFacts observe_connection(const gateway::FeedConfig& feed, std::chrono::milliseconds timeout,
                             const FetchHealth& fetch) {
    FeedFacts facts;
    facts.feed = feed.name;
    facts.connect = feed.connect;
    facts.gateway_queried = fetch != nullptr;
    if (auto report = GatewayClient{fetch, feed.name}.query(core::utc_nanos(), facts.gateway_error)) {
        facts.gateway_runs = true;
        facts.gateway_findings = std::move(report->findings);
    }
    sockaddr_storage address{};
    const auto length = feed.connect.to_kernel(address);
    const auto socket = open_socket(address.ss_family, SOCK_STREAM, 0);
    int error = 0;
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) error = errno;
    if (error == EINPROGRESS) {
        pollfd waiting{socket.get(), POLLOUT, 0};
        socklen_t size = sizeof error;
        if (poll(&waiting, 1, static_cast<int>(timeout.count())) <= 0) {
            error = ETIMEDOUT;
        } else if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
            error = errno;
        }
    }
    if (error != 0) facts.connection_error = std::generic_category().message(error);
    return facts;
}

void open_receiver(const gateway::FeedConfig& feed, std::optional<net::UdpReceiver>& receiver, FeedFacts& facts) try {
    receiver.emplace(gateway::receiver_options(feed));
    facts.socket_opened = true;
} catch (const std::exception& error) {
    facts.socket_error = error.what();
}

}  // namespace

FeedFacts observe(const gateway::FeedConfig& feed, std::chrono::milliseconds timeout, const FetchHealth& fetch) {
    if (!feed.connect.empty()) return observe_connection(feed, timeout, fetch);
    FeedFacts facts;
    facts.feed = feed.name;
    facts.format = feed.format.name();
    facts.listen = feed.listen;
    facts.interface = feed.interface;
    facts.receive_buffer = feed.receive_buffer;
    const auto routes = contents_of("/proc/net/route");
    if (facts.interface.empty() && feed.listen.is_multicast()) facts.interface = route_to(routes, feed.listen);
    inspect_interface(facts);
    facts.joined_on = joined_on(contents_of("/proc/net/igmp"), feed.listen);
    const auto sockets = [] { return contents_of("/proc/net/udp") + contents_of("/proc/net/udp6"); };
    const auto drops_before = drops_of_port(sockets(), feed.listen.port());
    facts.gateway_runs = drops_before.has_value();

    const GatewayClient client{fetch, feed.name};
    const auto report_before = client.query(0, facts.gateway_error);
    facts.gateway_queried = fetch != nullptr;

    LinkWatch link{facts};
    facts.link_watched = link.get() >= 0;
    std::optional<net::UdpReceiver> receiver;
    open_receiver(feed, receiver, facts);
    ProbeDecoder decoder{feed.format.kind()};
    const auto begin = core::monotonic_nanos();
    const auto end = begin + std::chrono::nanoseconds{timeout}.count();
    for (auto now = begin; now < end; now = core::monotonic_nanos()) {
        std::array<pollfd, 2> waiting{pollfd{link.get(), POLLIN, 0}, pollfd{receiver ? receiver->fd() : -1, POLLIN, 0}};
        poll(waiting.data(), waiting.size(), static_cast<int>((end - now) / 1'000'000 + 1));
        if (receiver) {
            const auto datagrams = receiver->poll();
            facts.at_socket += datagrams.size();
            for (const auto& datagram : datagrams) decoder.decode(datagram.bytes, facts);
        }
        if (facts.link_watched) link.read_frames(facts, receiver ? nullptr : &decoder);
        if (facts.decoded + facts.rejected >= kEnoughDatagrams && (!facts.link_watched || facts.on_link != 0)) break;
    }
    facts.seconds = static_cast<double>(core::monotonic_nanos() - begin) / 1e9;
    facts.kernel_drops = drops_of_port(sockets(), feed.listen.port()).value_or(0) - drops_before.value_or(0);
    if (report_before) {
        if (auto report = client.query(core::utc_nanos(), facts.gateway_error)) {
            facts.gateway_received = report->datagrams - std::min(report->datagrams, report_before->datagrams);
            facts.gateway_findings = std::move(report->findings);
        }
    }
    facts.route_to_sender = route_to(routes, facts.sender);
    if (facts.on_link != 0 && facts.at_socket == 0) {
        facts.dropping_rules = dropping_rules(output_of("nft list ruleset 2>/dev/null"), feed.listen);
    }
    return facts;
}

}  // namespace millpond::app::doctor
