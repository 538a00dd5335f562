// Measured:     half of a round trip between two processors, through a link there and a like link back.
// Not measured: construction, waking a sleeping thread, several readers.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"
#include "bench/queue/crate_contenders.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/queue/jvm_contenders.hpp"
#include "bench/rivals/spsc_queues.hpp"

namespace {

using namespace millpond;

const core::TickRate kRate;

// The typical hop: the median over the means of so many trips, finer than one tick of the processor's counter.
constexpr std::size_t kTripsEach = 64;

bench::Finding hops(const std::vector<std::uint64_t>& stamps) {
    const auto half = kRate.nanos_per_tick() / 2;
    bench::Finding found;
    std::vector<double> means;
    for (std::size_t i = 1; i < stamps.size(); ++i) {
        found.latencies.push_back(static_cast<float>(static_cast<double>(stamps[i] - stamps[i - 1]) * half));
        if (i % kTripsEach == 0) {
            means.push_back(static_cast<double>(stamps[i] - stamps[i - kTripsEach]) * half / kTripsEach);
        }
    }
    found.value = bench::median(std::move(means));
    return found;
}

template <class Link>
bench::Finding ping_pong() {
    const auto trips = bench::scaled(100'000);
    const auto cores = bench::two_cores();
    const auto there = std::make_unique<Link>();
    const auto back = std::make_unique<Link>();
    std::jthread echo([&] {
        bench::run_on(cores.second);
        bench::Message message{};
        for (std::size_t i = 0; i < trips; ++i) {
            bench::spin_until([&] { return there->receive(message); });
            ++message[0];
            back->send(message);
        }
    });
    bench::run_on(cores.first);
    std::vector<std::uint64_t> stamps{core::ticks()};
    stamps.reserve(trips + 1);
    std::uint64_t answer = 0;
    bench::Message message{};
    for (std::size_t i = 0; i < trips; ++i) {
        message[0] = 2 * i + 1;
        there->send(message);
        bench::spin_until([&] { return back->receive(message); });
        answer += message[0];
        stamps.push_back(core::ticks());
    }
    auto found = hops(stamps);
    found.answer = answer;
    return found;
}

}  // namespace

int main() {
    bench::Question question{
        .question = "What does one hop of a message between two processors cost?",
        .unit = "ns/hop",
        .goals = {{.contender = "BroadcastRing", .to = "bare cache line", .at_most = 1.1},
                  {.contender = "BroadcastRing", .to = "bare entry", .at_most = 1.1}},
        .bracket = bench::Bracket{"bare cache line", [] { return ping_pong<bench::LineLink>().value; }},
        .measured = "half of a round trip of 112 bytes between two processors, one message at a time",
        .not_measured = "construction, waking a sleeping thread, several readers"};
    std::vector<bench::Contender> contenders{{"the limit once more", ping_pong<bench::LineLink>},
                                             {"bare entry", ping_pong<bench::EntryLink>},
                                             {"BroadcastRing", ping_pong<bench::BroadcastLink>},
                                             {"SpscRing", ping_pong<bench::SpscLink>},
                                             {"cursor ring", ping_pong<bench::CursorLink>}};
    contenders.push_back(
        {"boost::lockfree::spsc_queue", ping_pong<bench::BoostSpscLink<bench::Message, bench::kLinkCapacity>>});
#ifdef MILLPOND_BENCH_READERWRITERQUEUE
    contenders.push_back({"moodycamel::ReaderWriterQueue",
                          ping_pong<bench::ReaderWriterQueueLink<bench::Message, bench::kLinkCapacity>>});
#else
    std::puts("moodycamel::ReaderWriterQueue is left out: no libreaderwriterqueue-dev");
#endif
    bench::add_crate_contenders(contenders, question, true, bench::scaled(100'000));
    bench::add_jvm_contenders(contenders, question, "hop", bench::scaled(100'000));
    bench::compare(question, contenders);
}
