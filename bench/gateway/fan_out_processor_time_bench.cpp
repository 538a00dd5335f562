// Measured:     the processor time that our tcp and web sinks and nats-server take for each line that one of 1, 100 and
//               1,000 subscribers gets: all threads of the gateway, those of receiving and publishing included, all
//               threads of the server. Bursts of 20 lines, each when every subscriber has the one before.
// Not measured: the subscribers and the sender; subscribers on other machines, TLS, slow subscribers.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bench/gateway/fan_out.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"

namespace {

using namespace millpond;

constexpr std::uint64_t kBurst = 20;

std::uint64_t lines_for(std::size_t subscribers) {
    return std::max<std::uint64_t>(bench::scaled(std::min<std::size_t>(20'000, 400'000 / subscribers)) / kBurst, 1) *
           kBurst;
}

template <class Source>
bench::Finding processor_time(Source& source, bench::ManyClients& clients, std::size_t count) {
    const auto first = bench::join(clients, source, count);
    const auto lines = lines_for(count);
    const auto before = source.processor_nanos();
    bench::send_bursts(clients, source, count, lines, kBurst, first);
    const auto nanos = static_cast<double>(source.processor_nanos() - before);
    const auto last = clients.read_rest();
    clients.disconnect();
    // Nanoseconds per line equal thousandths of a second per million lines.
    return {.value = nanos / static_cast<double>(lines * count) / 1e3, .answer = last - first};
}

}  // namespace

int main() {
    bench::FanOut fan_out;
    const auto run = [](auto& source, bench::ManyClients& clients, std::size_t count) {
        return processor_time(source, clients, count);
    };
    auto contenders = fan_out.contenders(run);
    fan_out.add_sink(contenders, "millpond web sink", bench::ClientKind::web, bench::kSubscribers, bench::kTrain, run);
    bench::compare(
        {.question = "How much processor time do a million lines to subscribers take?",
         .unit = "s/million lines",
         .curve = bench::Curve{.axis = "subscribers",
                               .knees = {{.at = 100,
                                          .why = "receiving, decoding and encoding a quote, and waking for it, are "
                                                 "shared by all subscribers; from here on a call of the kernel for "
                                                 "each subscriber and burst is what is left"}}},
         .goals = fan_out.goals({.contender = {}, .at_most = 1.0}),
         .measured = "all threads of the gateway or of nats-server, per line and subscriber; bursts of 20 lines, each "
                     "when every subscriber has the one before; the gateway gets a datagram for each quote, decodes "
                     "it and encodes the line, nats-server gets finished lines; each gets a burst with one call",
         .not_measured = "the subscribers and the sender; subscribers on other machines, TLS, slow subscribers" +
                         fan_out.missing()},
        contenders);
}
