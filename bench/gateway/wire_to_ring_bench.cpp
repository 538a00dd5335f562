// Measured:     from before the send call of a 256-byte bbo28 datagram on loopback until the subscriber holds its
//               quote. Sender and subscriber are one thread on one processor, what lies between is on the other and
//               spins.
// Not measured: a network card, a burst, waking a sleeping thread, the start.
#include <string>

#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/gateway/wire_paths.hpp"
#include "bench/gateway/wire_to_ring.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

template <class Path>
bench::Finding one_way() {
    const auto cores = bench::two_cores();
    bench::run_on(
        {cores.first, cores.second});  // a thread can only be bound to processors of the thread that starts it
    Path path(cores.second);
    net::UdpSender sender({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(path.port()))});
    return bench::wire_to_ring(path, sender);
}

double bare_p50() {
    auto found = one_way<bench::BarePath<>>();
    return bench::summarise(found.latencies).p50;
}

}  // namespace

int main() {
    bench::compare(
        {.question = "How long from the wire to a subscriber in shared memory?",
         .unit = "us",
         .goals = {{.contender = "millpond gateway", .to = "bare recvmsg + bare entry", .at_most = 1.10},
                   {.contender = "Asio chain, both threads on one processor", .to = "millpond gateway", .at_least = 4},
                   {.contender = "Asio chain, threads where the kernel puts them",
                    .to = "millpond gateway",
                    .at_least = 4}},
         .bracket = bench::Bracket{"bare recvmsg + bare entry", bare_p50},
         .measured = "from before the send call of a 256-byte bbo28 datagram on loopback until the subscriber "
                     "holds its quote; sender and subscriber on one processor, the rest on the other, spinning",
         .not_measured = "a network card, a burst, waking a sleeping thread, the start"},
        {{"the limit once more", one_way<bench::BarePath<>>},
         {"the limit with the kernel's time", one_way<bench::BarePath<true>>},
         {"millpond gateway", one_way<bench::GatewayPath>},
         {"Asio chain, both threads on one processor", one_way<bench::AsioPath<bench::Placing::on_one_core>>},
         {"Asio chain, threads where the kernel puts them", one_way<bench::AsioPath<bench::Placing::anywhere>>}});
}
