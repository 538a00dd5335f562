#pragma once

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

/// Microseconds from before the send call of a bbo28 datagram on loopback until a client has read the line about it,
/// one after another. Sender and client are one thread; all threads go where the kernel puts them.
/// Path: feed_port() is where datagrams go, client().read_line() gives the next line.
template <class Path>
Finding one_way() {
    constexpr std::size_t kWarm = 200;
    const core::TickRate rate;
    const auto cores = two_cores();
    run_on({cores.first, cores.second});
    Path path;
    net::UdpSender sender({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(path.feed_port()))});
    Finding found;
    const auto count = scaled(4'000);
    for (std::size_t i = 0; i < kWarm + count; ++i) {
        const auto price = static_cast<std::uint32_t>(100'000 + i);
        const auto bytes = datagram_of(price);
        const auto sent = core::ticks();
        spin_until([&] { return sender.send(bytes); });
        std::uint64_t bid = 0;
        while ((bid = bid_of(path.client().read_line())) != price) {
        }
        const auto read = core::ticks();
        if (i < kWarm) continue;
        found.answer += bid;
        found.latencies.push_back(static_cast<float>(static_cast<double>(read - sent) * rate.nanos_per_tick() / 1'000));
    }
    return found;
}

}  // namespace millpond::bench
