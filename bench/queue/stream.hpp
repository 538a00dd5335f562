#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/clock.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/queue/ping_pong.hpp"

namespace millpond::bench {

/// Number of read messages, published every kTold messages outside the link, so that the writer never laps the reader.
struct alignas(core::kFalseSharingRange) Progress {
    static constexpr std::uint64_t kTold = kLinkCapacity / 8;
    std::atomic<std::uint64_t> read{0};
};

/// The reader times chunks of this many messages, several times the link's capacity. The median of the chunks counts: a
/// chunk in which a thread was preempted says nothing about the link.
inline constexpr std::uint64_t kStretch = 4 * kLinkCapacity;

/// Messages in a stream.
inline std::uint64_t streamed() { return scaled(64) * kStretch; }

/// Millions of messages per second through Link between two processors, while the reader keeps up.
template <class Link, class Message = bench::Message>
Finding stream() {
    const auto count = streamed();
    const auto cores = two_cores();
    const auto link = std::make_unique<Link>();
    Progress progress;
    std::uint64_t answer = 0;
    std::vector<double> rates;
    std::jthread reader([&] {
        run_on(cores.second);
        Message message{};
        auto begin = core::monotonic_nanos();
        for (std::uint64_t i = 1; i <= count; ++i) {
            spin_until([&] { return link->receive(message); });
            keep(message);  // the whole message was copied
            answer += message[0] + message.back();
            // sync "read up to": the load below
            if (i % Progress::kTold == 0) progress.read.store(i, std::memory_order_release);
            if (i % kStretch == 0) {
                const auto end = core::monotonic_nanos();
                rates.push_back(1'000.0 * kStretch / static_cast<double>(end - begin));
                begin = end;
            }
        }
    });
    run_on(cores.first);
    Message message{};
    std::uint64_t read = 0;
    for (std::uint64_t i = 1; i <= count; ++i) {
        spin_until([&] {
            if (i - read < kLinkCapacity) return true;
            read = progress.read.load(std::memory_order_acquire);  // sync "read up to": the store above
            return i - read < kLinkCapacity;
        });
        message[0] = message.back() = i;
        keep(message);
        link->send(message);
    }
    reader.join();
    return {.value = median(std::move(rates)), .answer = answer};
}

/// Millions of messages per second through the bare line, each sent after the previous one was read, with the answer of
/// stream().
inline Finding lines_a_second() {
    auto line = bare_line(streamed() * (streamed() + 1));
    line.value = 1'000.0 / line.value;
    return line;
}

}  // namespace millpond::bench
