#pragma once

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>

namespace millpond::bench {

/// Receives the datagrams to a free port on an interface from a ring into which the kernel copies every IPv4 packet
/// (TPACKET_V2). The datagrams also pass the network stack to a socket that is never read, so that the kernel does not
/// answer "port unreachable".
///
/// Threads: poll on one.
/// Source:  Linux Documentation/networking/packet_mmap.rst.
class PacketRing {
public:
    explicit PacketRing(const char* interface)
        : packets_(socket(AF_PACKET, SOCK_RAW, 0)), unread_(socket(AF_INET, SOCK_DGRAM, 0)) {
        const int version = TPACKET_V2;
        tpacket_req request{};
        request.tp_frame_size = kFrameBytes;
        request.tp_frame_nr = kFrames;
        request.tp_block_size = kBlockBytes;
        request.tp_block_nr = kFrames * kFrameBytes / kBlockBytes;
        const int least = 1;
        sockaddr_in address{};
        socklen_t length = sizeof address;
        address.sin_family = AF_INET;
        sockaddr_ll place{};
        place.sll_family = AF_PACKET;
        place.sll_protocol = htons(ETH_P_IP);
        place.sll_ifindex = static_cast<int>(if_nametoindex(interface));
        const bool ready = packets_ >= 0 && unread_ >= 0 &&
                           setsockopt(unread_, SOL_SOCKET, SO_RCVBUF, &least, sizeof least) == 0 &&
                           bind(unread_, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                           getsockname(unread_, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
                           setsockopt(packets_, SOL_PACKET, PACKET_VERSION, &version, sizeof version) == 0 &&
                           setsockopt(packets_, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) == 0 &&
                           (ring_ = mmap(nullptr, kFrames * kFrameBytes, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_POPULATE, packets_, 0)) != MAP_FAILED &&
                           bind(packets_, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0;
        if (!ready) throw std::runtime_error("no packet ring (root needed)");
        port_ = ntohs(address.sin_port);
    }
    PacketRing(const PacketRing&) = delete;
    PacketRing& operator=(const PacketRing&) = delete;
    ~PacketRing() {
        munmap(ring_, kFrames * kFrameBytes);
        close(packets_);
        close(unread_);
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }

    /// Calls handle(payload) for each available datagram. Returns their number.
    template <class Handle>
    std::size_t poll(Handle&& handle) {
        std::size_t received = 0;
        for (std::size_t looked = 0; looked < kFrames; ++looked) {
            auto* const frame = static_cast<std::byte*>(ring_) + next_ * kFrameBytes;
            auto& head = *reinterpret_cast<tpacket2_hdr*>(frame);
            const std::atomic_ref<std::uint32_t> status(head.tp_status);
            if ((status.load(std::memory_order_acquire) & TP_STATUS_USER) == 0) break;
            const auto payload = payload_of({frame + head.tp_net, head.tp_snaplen + head.tp_mac - head.tp_net});
            if (!payload.empty()) {
                handle(payload);
                ++received;
            }
            status.store(TP_STATUS_KERNEL, std::memory_order_release);
            next_ = (next_ + 1) % kFrames;
        }
        return received;
    }

private:
    static constexpr std::uint32_t kFrameBytes = 2'048;
    static constexpr std::uint32_t kFrames = 1'024;
    static constexpr std::uint32_t kBlockBytes = 65'536;

    /// Payload of an IPv4 packet; empty if it is not one of ours.
    [[nodiscard]] std::span<const std::byte> payload_of(std::span<const std::byte> packet) const {
        if (packet.size() < sizeof(iphdr) + sizeof(udphdr)) return {};
        iphdr ip;
        std::memcpy(&ip, packet.data(), sizeof ip);
        const std::size_t ip_bytes = ip.ihl * 4U;
        if (ip.protocol != IPPROTO_UDP || packet.size() < ip_bytes + sizeof(udphdr)) return {};
        udphdr udp;
        std::memcpy(&udp, packet.data() + ip_bytes, sizeof udp);
        const std::size_t udp_bytes = ntohs(udp.len);
        if (ntohs(udp.dest) != port_ || udp_bytes < sizeof udp || packet.size() < ip_bytes + udp_bytes) return {};
        return packet.subspan(ip_bytes + sizeof udp, udp_bytes - sizeof udp);
    }

    int packets_;
    int unread_;
    std::uint16_t port_{0};
    void* ring_{MAP_FAILED};
    std::size_t next_{0};
};

}  // namespace millpond::bench
