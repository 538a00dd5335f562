#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/socket_error.hpp>

namespace millpond::net {

/// Sends datagrams to one UDP address, unicast or multicast.
///
/// Threads: send on one thread; counters on any.
/// Memory:  allocated in the constructor, about 100 bytes for each datagram of a batch.
/// Source:  sendmmsg(2), ip(7), udp(7) (UDP_SEGMENT).
class UdpSender {
public:
    struct Options {
        SocketAddress to{};
        SocketAddress from{};        ///< Address to send from; empty: the kernel chooses.
        std::string interface{};     ///< Interface that multicast leaves by; empty: the route's.
        int ttl{1};                  ///< Hops that multicast may go, 0 to 255.
        bool loop{true};             ///< Whether this machine's subscribers get the multicast as well.
        std::size_t batch{64};       ///< Maximum datagrams for one system call, 1 to 1024.
        std::size_t send_buffer{0};  ///< Bytes the kernel may queue; 0: its default.
        Want send_buffer_want{Want::prefer};
        Want gso{Want::no};  ///< UDP_SEGMENT: datagrams of equal length pass through the kernel as one buffer.
    };

    /// Options that the kernel granted, read back from it.
    struct Report {
        SocketAddress local{};
        std::size_t send_buffer{0};  ///< In the unit of Options::send_buffer.
        bool gso{false};
        std::vector<std::string> fallbacks;  ///< A sentence for each preference that could not be honoured.
    };

    /// Written by the sending thread. Refused datagrams are not sent later: the caller still has them.
    struct Counters {
        core::Tally datagrams;     ///< Accepted by the kernel.
        core::Tally bytes;         ///< Payload of accepted datagrams.
        core::Tally would_block;   ///< Calls refused because the send buffer is full (EAGAIN).
        core::Tally no_buffers;    ///< Calls refused because the device's queue is full (ENOBUFS).
        core::Tally peer_refused;  ///< The address refused (ECONNREFUSED); sending continues.
        core::Tally errors;        ///< Calls refused for another reason.
        core::Tally last_error;    ///< errno of the latest such call.
    };

    /// Throws std::invalid_argument for options out of range and SocketError for what the system refuses.
    explicit UdpSender(const Options& options);
    UdpSender(const UdpSender&) = delete;
    UdpSender& operator=(const UdpSender&) = delete;
    ~UdpSender() = default;

    /// Sends datagrams until the kernel refuses one. Returns how many it accepted. Never blocks, allocates or throws.
    [[nodiscard]] std::size_t send(std::span<const std::span<const std::byte>> datagrams) noexcept;

    /// Sends one datagram; false if it was refused.
    [[nodiscard]] bool send(std::span<const std::byte> datagram) noexcept { return send({&datagram, 1}) == 1; }

    /// Descriptor for epoll and poll: writable again after a refusal with would_block.
    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

    [[nodiscard]] const Report& report() const noexcept { return report_; }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

private:
    struct alignas(cmsghdr) Control {
        std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
    };

    void set_up(const Options& options);
    void set_up_multicast(const Options& options, unsigned interface_index);
    std::size_t pack(std::span<const std::span<const std::byte>> datagrams) noexcept;
    void account(std::size_t messages, std::size_t& accepted) noexcept;
    void note_refusal(int error) noexcept;

    core::Descriptor socket_;
    std::size_t batch_;
    std::size_t max_in_train_{0};  // datagrams of a train must pass without fragments
    std::vector<iovec> vectors_;
    std::vector<Control> controls_;
    std::vector<mmsghdr> messages_;
    Report report_;
    Counters counters_;
};

}  // namespace millpond::net
