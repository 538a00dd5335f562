// Measured:     from before the send call of a bbo28 datagram on loopback until a client has read its JSON line, over
//               a WebSocket and over plain TCP. The client sleeps in its read call; sender and client are one thread,
//               all threads go where the kernel puts them.
// Not measured: a burst, several clients, connecting, a browser.
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
#include "bench/gateway/web_socket.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

const core::TickRate kRate;

bench::RunningGateway::Options options_of(bool web) {
    return {.receive_core = bench::two_cores().second, .poll = core::Poll::adaptive, .tcp = !web, .web = web};
}

struct TcpClient {
    static constexpr bool kWeb = false;
    explicit TcpClient(const bench::RunningGateway& gateway)
        : socket(bench::TcpSocket::connect_to(gateway.tcp_address().port())) {}
    bench::TcpSocket socket;
};

struct WebClient {
    static constexpr bool kWeb = true;
    explicit WebClient(const bench::RunningGateway& gateway) : socket(gateway.web_address().port()) {}
    bench::WebSocket socket;
};

template <class Client>
bench::Finding one_way() {
    constexpr std::size_t kWarm = 200;
    const auto cores = bench::two_cores();
    bench::run_on({cores.first, cores.second});
    const bench::RunningGateway gateway{options_of(Client::kWeb)};
    Client client{gateway};
    net::UdpSender sender({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(gateway.feed_port()))});
    bench::Finding found;
    const auto count = bench::scaled(4'000);
    for (std::size_t i = 0; i < kWarm + count; ++i) {
        const auto price = static_cast<std::uint32_t>(100'000 + i);
        const auto bytes = bench::datagram_of(price);
        const auto sent = core::ticks();
        bench::spin_until([&] { return sender.send(bytes); });
        std::uint64_t bid = 0;
        while ((bid = bench::bid_of(client.socket.read_line())) != price) {
        }
        const auto read = core::ticks();
        if (i < kWarm) continue;
        found.answer += bid;
        found.latencies.push_back(
            static_cast<float>(static_cast<double>(read - sent) * kRate.nanos_per_tick() / 1'000));
    }
    return found;
}

}  // namespace

int main() {
    bench::compare(
        {.question = "How long from the wire to a WebSocket client?",
         .unit = "us",
         .measured = "from before the send call of a bbo28 datagram on loopback until a client that sleeps in its read "
                     "call has the JSON line; threads run where the kernel puts them",
         .not_measured = "a burst, several clients, connecting, a browser"},
        {{"tcp sink, a TCP client", one_way<TcpClient>}, {"web sink, a WebSocket client", one_way<WebClient>}});
}
