#pragma once

#include <millpond/net/datagram.hpp>
#include <millpond/net/receive_options.hpp>
#include <millpond/net/udp_receiver.hpp>

namespace millpond::gateway {

/// What a feed shows of one of its lines: a UDP receiver or a TCP connection, whose messages count as datagrams.
class Line {
public:
    Line(const net::ReceiveReport& report, const net::ReceiveCounters& counters, int fd) noexcept
        : report_(&report), counters_(&counters), fd_(fd) {}
    explicit Line(const net::UdpReceiver& receiver) noexcept
        : Line(receiver.report(), receiver.counters(), receiver.fd()) {}

    /// Its `local` is the server of a connection.
    [[nodiscard]] const net::ReceiveReport& report() const noexcept { return *report_; }
    [[nodiscard]] const net::ReceiveCounters& counters() const noexcept { return *counters_; }
    /// Descriptor that is readable when something has arrived.
    [[nodiscard]] int fd() const noexcept { return fd_; }

private:
    const net::ReceiveReport* report_;
    const net::ReceiveCounters* counters_;
    int fd_;
};

}  // namespace millpond::gateway
