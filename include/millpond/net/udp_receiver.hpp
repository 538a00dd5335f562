#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/net/detail/descriptor.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/socket_error.hpp>

namespace millpond::net {

/// One datagram as it came.
struct Datagram {
    std::span<const std::byte> bytes;  ///< Valid until the next poll.
    std::int64_t receive_utc_ns{0};    ///< NIC's time where that is on and the datagram has it, else the kernel's.
    std::uint64_t receive_ticks{0};    ///< core::ticks() right after the receive call, the same for a whole poll.
};

/// Receives the datagrams of one UDP port, unicast or one multicast group, through a socket.
///
/// Threads: poll and refresh_kernel_drops on one thread; counts on any.
/// Memory:  a Region of `batch` buffers of max_datagram bytes (65,536 with GRO), and lists; all in the constructor.
/// Source:  recvmsg(2), recvmmsg(2), socket(7), ip(7), udp(7), RFC 3678 (joins),
///          Linux Documentation/networking/timestamping.rst.
///
/// A poll asks for one datagram and, as long as the answer is full, for twice as many in the next poll, up to `batch`:
/// a lone datagram is handed on without a further look at the socket, a burst takes few system calls. So is a train.
class UdpReceiver {
public:
    struct Options {
        SocketAddress local{};    ///< Address to bind, or the multicast group to join. Port 0: the kernel chooses.
        SocketAddress source{};   ///< Only datagrams of this sender (SSM, multicast only); empty: of any.
        std::string interface{};  ///< Name of the interface; empty: multicast by the route, unicast any.
        std::size_t batch{32};    ///< Datagrams (with GRO: trains of them) one system call may fetch, 1 to 1024.
        std::size_t max_datagram{2048};  ///< Longer ones are counted as truncated and not delivered; at most 65,536.
        std::size_t receive_buffer{0};   ///< Bytes of payload and overhead the kernel may queue; 0: its default.
        Want receive_buffer_want{Want::prefer};
        Want gro{Want::no};       ///< UDP_GRO: the kernel hands over trains of datagrams, poll splits them.
        Want nic_time{Want::no};  ///< Receive time by the interface's own clock, which must keep UTC.
        std::chrono::microseconds busy_poll{0};  ///< SO_BUSY_POLL: let a receive call spin on the device's queue.
        Want busy_poll_want{Want::prefer};
        memory::RegionOptions memory{.prefault = true};  ///< What the buffers stand on.
    };

    /// What the kernel gave, read back from it.
    struct Report {
        SocketAddress local{};          ///< With the port that the kernel chose.
        std::string interface{};        ///< As asked for; may be empty.
        std::size_t receive_buffer{0};  ///< In the unit of Options::receive_buffer (the kernel doubles it inside).
        bool gro{false};
        bool nic_time{false};
        std::chrono::microseconds busy_poll{0};
        std::vector<std::string> fallbacks;  ///< A sentence for each preference that was not fulfilled.
    };

    /// Written by the polling thread.
    struct Counts {
        core::Tally datagrams;          ///< Delivered.
        core::Tally bytes;              ///< Payload delivered.
        core::Tally truncated;          ///< Longer than max_datagram: not delivered.
        core::Tally longest_truncated;  ///< Bytes of the longest of those.
        core::Tally kernel_drops;       ///< Lost in front of this socket, most often because its buffer was full.
        core::Tally without_nic_time;   ///< Delivered with the kernel's time although NIC time is on.
        core::Tally errors;             ///< Receive calls that failed for another reason than "nothing there".
        core::Tally last_error;         ///< errno of the latest of those.
    };

    /// Throws std::invalid_argument for options out of range and SocketError for what the system refuses.
    explicit UdpReceiver(const Options& options);
    UdpReceiver(const UdpReceiver&) = delete;
    UdpReceiver& operator=(const UdpReceiver&) = delete;
    ~UdpReceiver() = default;

    /// The datagrams that have come, in order; empty when none is waiting. Never blocks, allocates or throws; at most
    /// one system call. A wait on fd() makes sense only after an empty poll.
    [[nodiscard]] std::span<const Datagram> poll() noexcept;

    /// Readable when datagrams wait: for epoll and poll.
    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

    [[nodiscard]] const Report& report() const noexcept { return report_; }
    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

    /// What the buffers stand on: its report tells of huge pages, node and locking.
    [[nodiscard]] const memory::Region& memory() const noexcept { return memory_; }

    /// Asks the kernel for its drop counter (a system call). Without it counts().kernel_drops learns of a drop only
    /// from the next datagram that was queued after it.
    std::uint64_t refresh_kernel_drops() noexcept;

private:
    struct Stamps {
        std::int64_t kernel{0};
        std::int64_t nic{0};
        std::size_t segment{0};
    };

    void set_up(const Options& options);
    void join(const Options& options, unsigned interface_index);
    void make_buffers(const Options& options);
    bool receive() noexcept;
    void deliver() noexcept;
    Stamps read_control(msghdr& header) noexcept;
    void note_drops(std::uint32_t kernel_total) noexcept;

    detail::Descriptor socket_;
    std::size_t batch_;
    memory::Region memory_;  // the datagrams' bytes, then the control messages'
    std::vector<iovec> vectors_;
    std::vector<mmsghdr> messages_;
    std::vector<Datagram> datagrams_;  // of the latest poll; its size is the room there is
    std::size_t delivered_{0};         // datagrams of the latest poll
    std::size_t wanted_{1};            // messages the next receive call asks for
    std::size_t received_{0};          // messages of the latest receive call
    std::size_t next_message_{0};      // first of them that is not completely delivered
    std::size_t next_offset_{0};       // and the offset within it
    std::uint64_t ticks_{0};
    std::uint32_t kernel_total_{0};
    Report report_;
    Counts counts_;
};

}  // namespace millpond::net
