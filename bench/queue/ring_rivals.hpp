#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/queue/crate_contenders.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/queue/jvm_contenders.hpp"
#include "bench/rivals/cursor_ring.hpp"
#include "bench/rivals/spsc_queues.hpp"

namespace millpond::bench {

/// The measurement of a bench that compares rings between two processors.
struct RingWork {
    bool hops;            ///< Nanoseconds per hop; else millions of messages per second.
    std::uint64_t count;  ///< Messages of rivals in other languages in a run.
};

/// Adds rings and queues of other projects to the contenders, or names missing ones, with a goal for BroadcastRing
/// against each. run<Link>(): measures a link of hop_links.hpp.
template <class Run>
void add_ring_rivals(std::vector<Contender>& contenders, Question& question, const RingWork& work, Run run) {
    const auto ours = contenders.size();
    contenders.push_back({"cursor ring", [run] { return run.template operator()<CursorLink>(); }});
    contenders.push_back({"boost::lockfree::spsc_queue",
                          [run] { return run.template operator()<BoostSpscLink<Message, kLinkCapacity>>(); }});
#ifdef MILLPOND_BENCH_READERWRITERQUEUE
    contenders.push_back({"moodycamel::ReaderWriterQueue",
                          [run] { return run.template operator()<ReaderWriterQueueLink<Message, kLinkCapacity>>(); }});
#else
    question.not_measured += "; moodycamel::ReaderWriterQueue, which is not installed here";
#endif
    add_crate_contenders(contenders, question, work.hops, work.count);
    add_jvm_contenders(contenders, question, work.hops ? "hop" : "stream", work.count);
    for (auto i = ours; i < contenders.size(); ++i) {
        Goal goal{.contender = "BroadcastRing", .to = contenders[i].name};
        (work.hops ? goal.at_most : goal.at_least) = 1.0;
        question.goals.push_back(goal);
    }
}

}  // namespace millpond::bench
