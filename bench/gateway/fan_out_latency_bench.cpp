// Measured:     from before a line is sent until each of 1, 100 and 1,000 subscribers has it, from our tcp sink and
// from
//               nats-server: one line at a time at an even pace, as many deliveries a second for 100 and for 1,000.
// Not measured: subscribers on other machines, TLS, slow subscribers, bursts.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <millpond/core/clock.hpp>

#include "bench/gateway/fan_out.hpp"
#include "bench/gateway/line_delays.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"

namespace {

using namespace millpond;

constexpr std::int64_t kSecond = 1'000'000'000;

/// 5,000 lines a second to one subscriber, else 50,000 deliveries to all of them.
std::int64_t interval_for(std::size_t subscribers) {
    return std::max<std::int64_t>(kSecond / 5'000, static_cast<std::int64_t>(subscribers) * kSecond / 50'000);
}

void sleep_until(std::int64_t monotonic_nanos) {
    const timespec until{.tv_sec = monotonic_nanos / kSecond, .tv_nsec = monotonic_nanos % kSecond};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

template <class Source>
bench::Finding delays(Source& source, bench::ManyClients& clients, std::size_t count, bench::LineDelays& noted) {
    const auto first = bench::join(clients, source, count);
    const auto interval = interval_for(count);
    const auto lines = static_cast<std::uint64_t>(bench::scaled(kSecond) / static_cast<std::size_t>(interval));
    const auto all = first + lines * count;
    clients.note_delays();
    clients.start_reading_until(all);
    const auto start = core::monotonic_nanos();
    for (std::uint64_t i = 0; i < lines; ++i) {
        sleep_until(start + static_cast<std::int64_t>(i) * interval);
        noted.sends(i);
        source.send(1);
    }
    if (clients.answer() < all) throw bench::Refused("a subscriber lacks lines");
    const auto last = clients.read_rest();
    clients.disconnect();
    return {.answer = last - first, .latencies = noted.all()};
}

}  // namespace

int main() {
    bench::LineDelays noted;
    bench::FanOut fan_out{&noted};
    const auto contenders = fan_out.contenders([&noted](auto& source, bench::ManyClients& clients, std::size_t count) {
        return delays(source, clients, count, noted);
    });
    bench::compare(
        {.question = "How late is a line at its subscribers?",
         .unit = "us",
         .curve = bench::Curve{.axis = "subscribers",
                               .knees = {{.at = 100,
                                          .why = "up to here waking the server and the subscribers takes most of the "
                                                 "time; beyond it a line waits until those before it in the list of "
                                                 "subscribers have theirs, one call of the kernel for each"}}},
         .goals = fan_out.goals({.contender = {}, .of = bench::Statistic::p99, .at_most = 1.0}),
         .measured = "from before a line is sent until a subscriber has read it, for every line at every subscriber: "
                     "5,000 lines a second to one, 500 to 100, 50 to 1,000; the gateway gets a datagram for each "
                     "quote, decodes it and encodes the line, nats-server gets finished lines; server, subscribers "
                     "and sender share two processors and sleep while nothing comes",
         .not_measured = "subscribers on other machines, TLS, slow subscribers, bursts" + fan_out.missing()},
        contenders);
}
