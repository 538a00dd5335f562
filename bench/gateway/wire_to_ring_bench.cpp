// Measured:     from before the send call of a 256-byte bbo28 datagram on loopback until the subscriber holds its
// quote.
//               Sender and subscriber are one thread on one processor, what lies between is on the other and spins.
// Not measured: a network card, a burst, waking a sleeping thread, the start.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/gateway/datagram.hpp"
#include "bench/gateway/wire_paths.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

const core::TickRate kRate;
template <class Path>
bench::Finding one_way() {
    constexpr std::size_t kWarm = 500;
    const auto cores = bench::two_cores();
    bench::run_on({cores.first, cores.second});  // a thread may be bound only to where its starter may run
    Path path(cores.second);
    net::UdpSender sender({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(path.port()))});
    bench::run_on(cores.first);
    bench::Finding found;
    const auto count = bench::scaled(10'000);
    for (std::size_t i = 0; i < kWarm + count; ++i) {
        const auto bytes = bench::datagram_of(static_cast<std::uint32_t>(100'000 + i));
        std::optional<feed::Price> price;
        const auto sent = core::ticks();
        bench::spin_until([&] { return sender.send(bytes); });
        bench::spin_until([&] { return (price = path.try_take()).has_value(); });
        const auto taken = core::ticks();
        found.answer += static_cast<std::uint64_t>(*price);
        if (i < kWarm) continue;
        found.latencies.push_back(
            static_cast<float>(static_cast<double>(taken - sent) * kRate.nanos_per_tick() / 1'000));
    }
    return found;
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
                   {.contender = "Asio chain", .to = "millpond gateway", .at_least = 4}},
         .bracket = bench::Bracket{"bare recvmsg + bare entry", bare_p50},
         .measured = "from before the send call of a 256-byte bbo28 datagram on loopback until the subscriber "
                     "holds its quote; sender and subscriber on one processor, the rest on the other, spinning",
         .not_measured = "a network card, a burst, waking a sleeping thread, the start"},
        {{"the limit once more", one_way<bench::BarePath<>>},
         {"the limit with the kernel's time", one_way<bench::BarePath<true>>},
         {"millpond gateway", one_way<bench::GatewayPath>},
         {"Asio chain", one_way<bench::AsioPath>}});
}
