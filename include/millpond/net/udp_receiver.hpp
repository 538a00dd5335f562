#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/net/datagram.hpp>
#include <millpond/net/receive_options.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::net {

namespace detail {
/// Multicast membership of a socket.
struct Joined {
    SocketAddress group{};   ///< Empty: none; the address is unicast.
    SocketAddress source{};  ///< Empty: any sender.
    std::string interface{};
    unsigned index{0};
};
}  // namespace detail

/// Receives the datagrams of one UDP port, unicast or one multicast group.
///
/// Threads: poll and refresh_kernel_drops on one thread (it may be another than the constructor's); counters on any.
/// Memory:  a Region of buffers of max_datagram bytes (65,536 with GRO) and lists, all in the constructor: `batch`
///          buffers for a socket, 4,096 frames a queue for AF_XDP.
/// Source:  recvmsg(2), recvmmsg(2), socket(7), ip(7), udp(7), RFC 3678 (joins), Linux
///          Documentation/networking/timestamping.rst and af_xdp.rst.
///
/// A poll of a socket requests one datagram and, as long as it gets as many as requested, twice as many in the next
/// poll, up to `batch`: a single datagram is delivered without a second call, and a burst needs few calls.
///
/// On AF_XDP an eBPF program on the interface redirects the datagrams of this address, port, source and VLAN; all other
/// frames are passed to the kernel, including fragments, which are not reassembled here. The program is removed when
/// the process ends. The receive time is the time of the poll, and the kernel's socket only joins the group. An
/// interface can have one such receiver.
class UdpReceiver {
public:
    /// Throws std::invalid_argument for options out of range and SocketError for what the system refuses.
    explicit UdpReceiver(const ReceiveOptions& options);
    UdpReceiver(const UdpReceiver&) = delete;
    UdpReceiver& operator=(const UdpReceiver&) = delete;
    ~UdpReceiver();

    /// Returns the datagrams that have arrived, in order; empty if none is waiting. Never blocks, allocates or throws;
    /// makes at most one system call. Wait on fd() only after an empty poll.
    [[nodiscard]] std::span<const Datagram> poll() noexcept;

    /// Connects to the peer again; false while there is no route. Nothing is received until it has been connected once,
    /// by the constructor or by this. Only with ReceiveOptions::peer.
    [[nodiscard]] bool connect() noexcept;
    /// Sends to the peer; false if the kernel refused the datagram. Only with ReceiveOptions::peer. Never
    /// blocks.
    [[nodiscard]] bool send(std::span<const std::byte> datagram) noexcept;

    /// Binds to the interface and joins the group again, if the interface was deleted and recreated: until then the
    /// socket receives nothing. True if that was needed and succeeded; call it about once a second. Binding again needs
    /// CAP_NET_RAW. Does nothing without ReceiveOptions::interface, and for AF_XDP, whose program is removed with the
    /// interface. A system call; never blocks.
    bool rejoin() noexcept;

    /// Descriptor for epoll and poll: readable when datagrams wait.
    [[nodiscard]] int fd() const noexcept;

    [[nodiscard]] const ReceiveReport& report() const noexcept { return report_; }
    [[nodiscard]] const ReceiveCounters& counters() const noexcept { return counters_; }

    /// Memory of the buffers. Its report has huge pages, node and locking.
    [[nodiscard]] const memory::Region& memory() const noexcept;

    /// Reads the kernel's drop counter, and other_vlan (a system call each). Otherwise counters().kernel_drops is
    /// updated by the next datagram that was queued after a drop.
    std::uint64_t refresh_kernel_drops() noexcept;

private:
    struct Path;  // a SocketPath or an XdpPath

    void open_path(const ReceiveOptions& options);

    core::Descriptor socket_;
    SocketAddress peer_;
    detail::Joined joined_;
    ReceiveReport report_;
    ReceiveCounters counters_;
    std::unique_ptr<Path> path_;
};

}  // namespace millpond::net
