// Measured:     how many lines a second all of 1, 100 and 1,000 subscribers get without a loss, from our tcp sink and
//               from nats-server: two bursts are on their way at a time, each line is counted at each subscriber. A
//               burst is 512 lines, for 100 subscribers 320 and for 1,000 subscribers 32.
// Not measured: subscribers on other machines, TLS, slow subscribers, several publishers.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bench/gateway/fan_out.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

std::uint64_t burst_for(std::size_t subscribers) { return std::min<std::uint64_t>(512, 32'000 / subscribers); }

/// Bursts per subscriber: the number of deliveries is the same for any number of subscribers, but a run with one is
/// shorter.
std::uint64_t bursts_for(std::size_t subscribers) {
    const auto lines = bench::scaled(std::min<std::size_t>(128'000, 600'000 / subscribers));
    return std::max<std::uint64_t>(lines / burst_for(subscribers), 2);
}

template <class Source>
bench::Finding lossless_rate(Source& source, bench::ManyClients& clients, std::size_t count) {
    const auto first = bench::join(clients, source, count);
    const auto burst = burst_for(count);
    const auto bursts = bursts_for(count);
    const auto nanos = bench::nanos_each(burst * bursts, [&] {
        source.send(burst);
        for (std::uint64_t i = 1; i <= bursts; ++i) {
            clients.start_reading_until(first + i * burst * count);
            if (i < bursts) source.send(burst);
            if (clients.answer() < first + i * burst * count) throw bench::Refused("a subscriber lacks lines");
        }
    });
    const auto last = clients.read_rest();
    clients.disconnect();
    return {.value = 1e9 / nanos, .answer = last - first};
}

}  // namespace

int main() {
    bench::FanOut fan_out;
    const auto run = [](auto& source, bench::ManyClients& clients, std::size_t count) {
        return lossless_rate(source, clients, count);
    };
    auto contenders = fan_out.contenders(run);
    fan_out.add_sink(contenders, "millpond tcp sink, a call for each line", bench::ClientKind::tcp, {1}, 1, run);
    fan_out.add_nats(contenders, "nats-server, a call for each line", {1}, 1, run);
    bench::compare(
        {.question = "How many lines a second do all subscribers get without a loss?",
         .unit = "lines/s",
         .curve =
             bench::Curve{
                 .axis = "subscribers",
                 .knees = {{.at = 100,
                            .why =
                                "with one subscriber the sender, the server and the subscriber work at the same "
                                "time; from here on the copies to the sockets, which the kernel makes one by one, "
                                "take nearly all of it, so that ten times the subscribers get a tenth of the lines"}}},
         .goals = fan_out.goals({.contender = {}, .at_least = 1.0}),
         .measured =
             "two bursts on their way at a time, of 512 lines (320 for 100 subscribers, 32 for 1,000), until each "
             "subscriber has every line; the gateway gets a datagram for each quote, decodes it and encodes "
             "the line, 64 of them with one call, nats-server gets finished lines, a burst with one call; in rows of "
             "their own, a line with each call; server, subscribers and sender share two processors",
         .not_measured =
             "subscribers on other machines, TLS, slow subscribers, several publishers" + fan_out.missing()},
        contenders);
}
