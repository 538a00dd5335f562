// Measured:     messages a second from one processor to another while the reader keeps up; none is lost.
// Not measured: a reader that is lapped, several readers.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/cache_line.hpp>
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

// What the reader has read, told every kTold messages beside the link, so that the writer never laps it.
struct alignas(core::kFalseSharingRange) Progress {
    static constexpr std::uint64_t kTold = bench::kLinkCapacity / 8;
    std::atomic<std::uint64_t> read{0};
};

// The reader takes the time of each so many messages, several times what the link holds, and the median of these is
// what counts: a stretch in which one of the two threads had no processor says nothing about the link.
constexpr std::uint64_t kStretch = 4 * bench::kLinkCapacity;

template <class Link>
bench::Finding stream() {
    const std::uint64_t count = bench::scaled(64) * kStretch;
    const auto cores = bench::two_cores();
    const auto link = std::make_unique<Link>();
    Progress progress;
    std::uint64_t answer = 0;
    std::vector<double> rates;
    std::jthread reader([&] {
        bench::run_on(cores.second);
        bench::Message message{};
        auto begin = core::monotonic_nanos();
        for (std::uint64_t i = 1; i <= count; ++i) {
            bench::spin_until([&] { return link->receive(message); });
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
    bench::run_on(cores.first);
    bench::Message message{};
    std::uint64_t read = 0;
    for (std::uint64_t i = 1; i <= count; ++i) {
        bench::spin_until([&] {
            if (i - read < bench::kLinkCapacity) return true;
            read = progress.read.load(std::memory_order_acquire);  // sync "read up to": the store above
            return i - read < bench::kLinkCapacity;
        });
        message[0] = message.back() = i;
        link->send(message);
    }
    reader.join();
    return {.value = bench::median(std::move(rates)), .answer = answer};
}

}  // namespace

int main() {
    bench::Question question{.question = "How many messages a second go from one processor to another?",
                             .unit = "M messages/s",
                             .goals = {{.contender = "BroadcastRing", .at_least = 30},
                                       {.contender = "BroadcastRing", .to = "cursor ring", .at_least = 1}},
                             .measured = "112 bytes a message, the reader copies each and keeps up; none is lost",
                             .not_measured = "a reader that is lapped, several readers"};
    std::vector<bench::Contender> contenders{{"cursor ring", stream<bench::CursorLink>},
                                             {"BroadcastRing", stream<bench::BroadcastLink>},
                                             {"SpscRing", stream<bench::SpscLink>}};
    contenders.push_back(
        {"boost::lockfree::spsc_queue", stream<bench::BoostSpscLink<bench::Message, bench::kLinkCapacity>>});
#ifdef MILLPOND_BENCH_READERWRITERQUEUE
    contenders.push_back(
        {"moodycamel::ReaderWriterQueue", stream<bench::ReaderWriterQueueLink<bench::Message, bench::kLinkCapacity>>});
#else
    std::puts("moodycamel::ReaderWriterQueue is left out: no libreaderwriterqueue-dev");
#endif
    bench::add_crate_contenders(contenders, question, false, bench::scaled(64) * kStretch);
    bench::add_jvm_contenders(contenders, question, "stream", bench::scaled(64) * kStretch);
    bench::compare(question, contenders);
}
