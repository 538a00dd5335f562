#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <millpond/memory/region.hpp>
#include <millpond/net/datagram.hpp>
#include <millpond/net/receive_options.hpp>

#include "control_data.hpp"
#include "datagram_list.hpp"

namespace millpond::net::detail {

/// Receives by recvmsg and recvmmsg.
class SocketPath {
public:
    SocketPath(int socket, const ReceiveOptions& options, const ReceiveReport& report, ReceiveCounters& counters);

    [[nodiscard]] std::span<const Datagram> poll() noexcept;
    [[nodiscard]] const memory::Region& memory() const noexcept { return memory_; }
    [[nodiscard]] KernelDrops& drops() noexcept { return drops_; }

private:
    bool receive() noexcept;
    bool next(Message& message) noexcept;

    int socket_;
    std::size_t batch_;
    memory::Region memory_;  // the datagrams' bytes, then the control messages'
    std::vector<iovec> vectors_;
    std::vector<mmsghdr> messages_;
    DatagramList list_;
    ReceiveCounters* counters_;
    KernelDrops drops_;
    std::size_t requested_{1};  // messages that the next receive call requests
    std::size_t received_{0};   // messages of the latest receive call
    std::size_t listed_{0};     // messages of it that are listed
    std::uint64_t ticks_{0};
};

}  // namespace millpond::net::detail
