#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <millpond/memory/region.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/socket_error.hpp>

namespace millpond::net {

/// Path by which a receiver gets datagrams from the kernel.
enum class ReceivePath : std::uint8_t {
    socket,  ///< recvmsg and recvmmsg.
    af_xdp,  ///< Frames from the interface's queues, past the kernel's network stack. Needs CAP_NET_RAW, CAP_NET_ADMIN
             ///< and CAP_BPF, IPv4 and a named interface.
};

/// Name in configurations: socket or af_xdp.
[[nodiscard]] const char* name_of(ReceivePath path) noexcept;

/// Checksums of IPv4 and UDP on AF_XDP. For a socket the kernel verifies them.
enum class Checksum : std::uint8_t {
    verify,  ///< Drop and count datagrams with a wrong checksum. A UDP checksum of 0 means none.
    trust,   ///< Deliver all: the interface has verified them, or the sender is a virtual interface.
};

/// Options of UdpReceiver.
struct ReceiveOptions {
    SocketAddress local{};  ///< Address to bind, or the multicast group to join. Port 0: the kernel chooses.
    /// Receives only datagrams of this unicast address and port: the socket is connected to it. `local` must then be
    /// empty; the kernel chooses address and port. A peer without a route is not an error: see connect. Not for AF_XDP.
    SocketAddress peer{};
    SocketAddress source{};          ///< Receives only datagrams of this sender (SSM, multicast only); empty: any.
    std::string interface{};         ///< Name of the interface; empty: multicast by the route, unicast any.
    std::size_t batch{32};           ///< Datagrams (with GRO: trains of them) one poll may fetch, 1 to 1024.
    std::size_t max_datagram{2048};  ///< Longer ones are counted as truncated and not delivered; at most 65,536.
    std::size_t receive_buffer{0};   ///< Bytes of payload and overhead that the kernel may queue; 0: its default.
    Want receive_buffer_want{Want::prefer};
    Want gro{Want::no};                      ///< UDP_GRO: the kernel hands over trains of datagrams, poll splits them.
    Want nic_time{Want::no};                 ///< Receive time by the interface's clock, which must be set to UTC.
    std::chrono::microseconds busy_poll{0};  ///< SO_BUSY_POLL: let a receive call spin on the device's queue.
    Want busy_poll_want{Want::prefer};
    ReceivePath path{ReceivePath::socket};
    Want path_want{Want::prefer};         ///< Whether to fall back to a socket if that path is not available.
    Want zero_copy{Want::prefer};         ///< AF_XDP: the interface writes directly into our memory.
    Checksum checksum{Checksum::verify};  ///< AF_XDP.
    std::uint16_t vlan{0};                ///< AF_XDP: only frames of this VLAN; 0: only untagged ones.
    memory::RegionOptions memory{.prefault = true};  ///< Memory of the buffers.
};

/// Options that the kernel granted to a UdpReceiver, read back from it.
struct ReceiveReport {
    SocketAddress local{};          ///< Includes the port that the kernel chose.
    std::string interface{};        ///< As requested; may be empty.
    std::size_t receive_buffer{0};  ///< In the unit of ReceiveOptions::receive_buffer (the kernel doubles it inside).
    bool gro{false};
    bool nic_time{false};
    std::chrono::microseconds busy_poll{0};
    ReceivePath path{ReceivePath::socket};
    bool zero_copy{false};               ///< AF_XDP without a copy.
    std::size_t queues{0};               ///< AF_XDP: receive queues of the interface that are read.
    std::vector<std::string> fallbacks;  ///< A sentence for each preference that could not be honoured.
};

}  // namespace millpond::net
