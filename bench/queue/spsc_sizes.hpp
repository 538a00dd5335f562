#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/rivals/spsc_queues.hpp"

namespace millpond::bench {

/// A contender for messages of 8, 64 and 112 bytes. run<Message>(): measures it.
template <std::size_t... kWords, class Run>
void add_sizes(std::vector<Contender>& all, const std::string& line, Run run, std::index_sequence<kWords...>) {
    const auto add = [&]<std::size_t kEach> {
        constexpr auto kBytes = kEach * sizeof(std::uint64_t);
        all.push_back({.name = line + ", " + std::to_string(kBytes),
                       .run = [run] { return run.template operator()<std::array<std::uint64_t, kEach>>(); },
                       .point = Point{.line = line, .at = static_cast<double>(kBytes)}});
    };
    (add.template operator()<kWords>(), ...);
}

/// SpscRing and its rivals for messages of 8, 64 and 112 bytes. measure<Link, Message>(): measures one. goal: that of
/// SpscRing to ReaderWriterQueue. knees: of the curves. also: contenders of this bench only.
template <class Measure>
void compare_sizes(Question question, Measure measure, const Goal& goal, std::vector<Knee> knees = {},
                   const std::vector<Contender>& also = {}) {
    question.curve = Curve{.axis = "bytes a message", .knees = std::move(knees)};
    using Sizes = std::index_sequence<1, 8, 14>;
    std::vector<Contender> all;
    add_sizes(
        all, "SpscRing", [=]<class Sent> { return measure.template operator()<SpscLink<Sent>, Sent>(); }, Sizes{});
    add_sizes(
        all, "boost::lockfree::spsc_queue",
        [=]<class Sent> { return measure.template operator()<BoostSpscLink<Sent, kLinkCapacity>, Sent>(); }, Sizes{});
#ifdef MILLPOND_BENCH_READERWRITERQUEUE
    add_sizes(
        all, "ReaderWriterQueue",
        [=]<class Sent> { return measure.template operator()<ReaderWriterQueueLink<Sent, kLinkCapacity>, Sent>(); },
        Sizes{});
    for (const std::string bytes : {"8", "64", "112"}) {
        auto& one = question.goals.emplace_back(goal);
        one.contender = "SpscRing, " + bytes;
        one.to = "ReaderWriterQueue, " + bytes;
    }
#else
    question.not_measured += "; moodycamel::ReaderWriterQueue, which is not installed here";
#endif
    all.insert(all.end(), also.begin(), also.end());
    compare(question, all);
}

}  // namespace millpond::bench
