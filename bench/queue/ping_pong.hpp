#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"
#include "bench/queue/hop_links.hpp"

namespace millpond::bench {

inline const core::TickRate kHopRate;

/// The typical hop: the median of means over so many round trips, which is finer than a tick of the processor's
/// counter.
inline constexpr std::size_t kTripsEach = 64;

inline Finding hops(const std::vector<std::uint64_t>& stamps) {
    const auto half = kHopRate.nanos_per_tick() / 2;
    Finding found;
    std::vector<double> means;
    for (std::size_t i = 1; i < stamps.size(); ++i) {
        found.latencies.push_back(static_cast<float>(static_cast<double>(stamps[i] - stamps[i - 1]) * half));
        if (i % kTripsEach == 0) {
            means.push_back(static_cast<double>(stamps[i] - stamps[i - kTripsEach]) * half / kTripsEach);
        }
    }
    found.value = median(std::move(means));
    return found;
}

inline std::size_t trips_of_a_run() { return scaled(100'000); }

/// Nanoseconds of half a round trip between two processors, through one link in each direction.
template <class Link, class Message = bench::Message>
Finding ping_pong() {
    const auto trips = trips_of_a_run();
    const auto cores = two_cores();
    const auto there = std::make_unique<Link>();
    const auto back = std::make_unique<Link>();
    std::jthread echo([&] {
        run_on(cores.second);
        Message message{};
        for (std::size_t i = 0; i < trips; ++i) {
            spin_until([&] { return there->receive(message); });
            keep(message);  // the whole message was copied
            ++message[0];
            back->send(message);
        }
    });
    run_on(cores.first);
    std::vector<std::uint64_t> stamps{core::ticks()};
    stamps.reserve(trips + 1);
    std::uint64_t answer = 0;
    Message message{};
    for (std::size_t i = 0; i < trips; ++i) {
        message[0] = 2 * i + 1;
        there->send(message);
        spin_until([&] { return back->receive(message); });
        keep(message);
        answer += message[0];
        stamps.push_back(core::ticks());
    }
    auto found = hops(stamps);
    found.answer = answer;
    return found;
}

/// A row of benches with another question: the property that makes a design fast on a machine.
inline constexpr const char* kBareLine = "bare cache line, one at a time";

/// Nanoseconds per hop of the bare line. answer: that of the bench's other contenders, returned if all trips were
/// right.
inline Finding bare_line(std::uint64_t answer) {
    const std::uint64_t trips = trips_of_a_run();
    const auto hop = ping_pong<LineLink>();
    return {.value = hop.value, .answer = hop.answer == trips * (trips + 1) ? answer : 0};
}

}  // namespace millpond::bench
