#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <millpond/core/clock.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/gateway/datagram.hpp"
#include "bench/gateway/line_price.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/gateway/tcp_socket.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// A gateway with a tcp sink and its client.
class TcpSinkPath {
public:
    [[nodiscard]] std::uint16_t feed_port() const { return gateway_.feed_port(); }
    [[nodiscard]] TcpSocket& client() { return client_; }

private:
    RunningGateway gateway_{{.receive_core = two_cores().second, .poll = core::Poll::adaptive, .tcp = true}};
    TcpSocket client_{TcpSocket::connect_to(gateway_.tcp_address().port())};
};

/// Datagrams of bbo28 to a port of loopback.
class FeedWire {
public:
    explicit FeedWire(std::uint16_t port)
        : sender_({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(port))}) {}
    void prepare(std::uint32_t price) { bytes_ = datagram_of(price); }
    void send() {
        spin_until([&] { return sender_.send(bytes_); });
    }

private:
    net::UdpSender sender_;
    std::array<std::byte, kDatagramBytes> bytes_{};
};

/// Threads that start from here on are placed by the kernel.
inline void roam() {
    const auto cores = two_cores();
    run_on({cores.first, cores.second});
}

/// Microseconds from before a quote is sent until a client has read its line, one quote at a time; one thread sends and
/// reads.
///
/// Wire: has prepare(price), then send(). Client: read_line() returns the next line.
template <class Wire, class Client>
Finding follow(Wire& wire, Client& client, std::size_t count) {
    constexpr std::size_t kWarm = 200;
    const core::TickRate rate;
    Finding found;
    const auto warm = std::min(kWarm, count);
    for (std::size_t i = 0; i < warm + count; ++i) {
        const auto price = static_cast<std::uint32_t>(100'000 + i);
        wire.prepare(price);
        const auto sent = core::ticks();
        wire.send();
        std::uint64_t bid = 0;
        while ((bid = bid_of(client.read_line())) != price) {
        }
        const auto read = core::ticks();
        if (i < warm) continue;
        found.answer += bid;
        found.latencies.push_back(static_cast<float>(static_cast<double>(read - sent) * rate.nanos_per_tick() / 1'000));
    }
    return found;
}

/// Likewise from before the send call of a bbo28 datagram on loopback; the kernel places all threads.
///
/// Path: feed_port() is the destination of datagrams, client() reads.
template <class Path>
Finding one_way() {
    roam();
    Path path;
    FeedWire wire{path.feed_port()};
    return follow(wire, path.client(), scaled(4'000));
}

}  // namespace millpond::bench
