#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/net/datagram.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/socket_error.hpp>

namespace millpond::net {

namespace detail {
class SocketPath;
class UringPath;
class XdpPath;
}  // namespace detail

/// How a receiver gets datagrams from the kernel.
enum class ReceivePath : std::uint8_t {
    socket,    ///< recvmsg and recvmmsg.
    io_uring,  ///< A multishot receive of io_uring on the same socket. It goes through the whole kernel as the others
               ///< do.
    af_xdp,    ///< Frames straight from the interface's queues, past the kernel's network stack. Needs CAP_NET_RAW,
               ///< CAP_NET_ADMIN and CAP_BPF, IPv4 and a named interface.
};

/// What AF_XDP does with the checksums of IPv4 and UDP, which the kernel compares on the other paths.
enum class Checksum : std::uint8_t {
    verify,  ///< Drop and count a datagram whose checksums do not match. A UDP checksum of 0 says that there is none.
    trust,   ///< Deliver all: where the interface has verified them, or the sender is a virtual interface.
};

/// The name as used in configurations: socket, io_uring or af_xdp.
[[nodiscard]] const char* name_of(ReceivePath path) noexcept;

/// Receives the datagrams of one UDP port, unicast or one multicast group.
///
/// Threads: poll and refresh_kernel_drops on one thread (it may be another than the constructor's); counters on any.
/// Memory:  a Region of buffers of max_datagram bytes (65,536 with GRO) and lists, all in the constructor: `batch`
///          buffers for a socket, twice as many for io_uring, 4,096 frames a queue for AF_XDP.
/// Source:  recvmsg(2), recvmmsg(2), socket(7), ip(7), udp(7), RFC 3678 (joins), io_uring_prep_recvmsg_multishot(3),
///          Linux Documentation/networking/timestamping.rst and af_xdp.rst.
///
/// A poll of a socket asks for one datagram and, as long as the answer is full, for twice as many in the next poll, up
/// to `batch`: a lone datagram is handed on without a further look, a burst takes few system calls. So is a train.
///
/// On AF_XDP a program of ours on the interface redirects the datagrams of this address, port, source and VLAN; all
/// else is passed to the kernel, and so are fragments, which it does not reassemble. It leaves with the process. The
/// receive time is that of the poll, and the kernel's socket is there for its joins only. An interface carries one such
/// receiver.
class UdpReceiver {
public:
    struct Options {
        SocketAddress local{};  ///< Address to bind, or the multicast group to join. Port 0: the kernel chooses.
        /// Only datagrams of this unicast address and port: the socket is connected to it. `local` stays empty then,
        /// the kernel chooses address and port. A peer without a route is not an error: see connect. Not for AF_XDP.
        SocketAddress peer{};
        SocketAddress source{};          ///< Only datagrams of this sender (SSM, multicast only); empty: of any.
        std::string interface{};         ///< Name of the interface; empty: multicast by the route, unicast any.
        std::size_t batch{32};           ///< Datagrams (with GRO: trains of them) one poll may fetch, 1 to 1024.
        std::size_t max_datagram{2048};  ///< Longer ones are counted as truncated and not delivered; at most 65,536.
        std::size_t receive_buffer{0};   ///< Bytes of payload and overhead the kernel may queue; 0: its default.
        Want receive_buffer_want{Want::prefer};
        Want gro{Want::no};       ///< UDP_GRO: the kernel hands over trains of datagrams, poll splits them.
        Want nic_time{Want::no};  ///< Receive time by the interface's own clock, which must keep UTC.
        std::chrono::microseconds busy_poll{0};  ///< SO_BUSY_POLL: let a receive call spin on the device's queue.
        Want busy_poll_want{Want::prefer};
        ReceivePath path{ReceivePath::socket};
        Want path_want{Want::prefer};         ///< Whether to fall back to a socket if that path is not available.
        Want zero_copy{Want::prefer};         ///< AF_XDP: the interface writes into our memory itself.
        Checksum checksum{Checksum::verify};  ///< AF_XDP.
        std::uint16_t vlan{0};                ///< AF_XDP: only frames of this VLAN; 0: only untagged ones.
        memory::RegionOptions memory{.prefault = true};  ///< Memory of the buffers.
    };

    /// What the kernel gave, read back from it.
    struct Report {
        SocketAddress local{};          ///< With the port that the kernel chose.
        std::string interface{};        ///< As requested; may be empty.
        std::size_t receive_buffer{0};  ///< In the unit of Options::receive_buffer (the kernel doubles it inside).
        bool gro{false};
        bool nic_time{false};
        std::chrono::microseconds busy_poll{0};
        ReceivePath path{ReceivePath::socket};
        bool zero_copy{false};               ///< AF_XDP without a copy.
        std::size_t queues{0};               ///< AF_XDP: receive queues of the interface that are read.
        std::vector<std::string> fallbacks;  ///< A sentence for each preference that was not fulfilled.
    };

    /// Throws std::invalid_argument for options out of range and SocketError for what the system refuses.
    explicit UdpReceiver(const Options& options);
    UdpReceiver(const UdpReceiver&) = delete;
    UdpReceiver& operator=(const UdpReceiver&) = delete;
    ~UdpReceiver();

    /// The datagrams that have come, in order; empty when none is waiting. Never blocks, allocates or throws; at
    /// most one system call, and a few where io_uring's request has to be made again. A wait on fd() makes sense only
    /// after an empty poll.
    [[nodiscard]] std::span<const Datagram> poll() noexcept;

    /// Connects to the peer again; false while no route leads there. Until it has been connected once, by the
    /// constructor or this, nothing comes. Only with Options::peer.
    [[nodiscard]] bool connect() noexcept;
    /// Sends to the peer; false when the kernel did not take the datagram. Only with Options::peer. Never blocks.
    [[nodiscard]] bool send(std::span<const std::byte> datagram) noexcept;

    /// Readable when datagrams wait: for epoll and poll.
    [[nodiscard]] int fd() const noexcept;

    [[nodiscard]] const Report& report() const noexcept { return report_; }
    [[nodiscard]] const ReceiveCounters& counters() const noexcept { return counters_; }

    /// Memory of the buffers: its report shows huge pages, node and locking.
    [[nodiscard]] const memory::Region& memory() const noexcept;

    /// Asks the kernel for its drop counter, and for other_vlan (a system call each). Without it
    /// counters().kernel_drops learns of a drop only from the next datagram that was queued after it.
    std::uint64_t refresh_kernel_drops() noexcept;

private:
    void open_path(const Options& options);

    core::Descriptor socket_;
    SocketAddress peer_;
    Report report_;
    ReceiveCounters counters_;
    // One of them, as report_.path says.
    std::unique_ptr<detail::SocketPath> by_socket_;
    std::unique_ptr<detail::UringPath> by_uring_;
    std::unique_ptr<detail::XdpPath> by_xdp_;
};

}  // namespace millpond::net
