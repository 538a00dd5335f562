// Measured:     what a message costs from many threads to one while the producers grow; each producer's messages must
//               come in its order.
// Not measured: construction, waking a sleeping consumer.
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

#include <millpond/core/clock.hpp>
#include <millpond/queue/mpsc_ring.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/rivals/crate_queues.hpp"
#include "bench/rivals/many_producer_queues.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kCapacity = 4'096;
constexpr std::size_t kMessages = 200'000;

class OurRing {
public:
    explicit OurRing(std::size_t capacity) : ring_(capacity) {}
    bool push(const bench::Message& message) { return ring_.try_push(message); }
    bool pop(bench::Message& into) { return ring_.try_pop(into); }

private:
    queue::MpscRing<bench::Message> ring_;
};

/// All producers on one processor, the consumer on the other.
template <class Queue>
bench::Finding stream(std::size_t producers) {
    const auto cores = bench::two_cores();
    const auto each = bench::scaled(kMessages) / producers;
    const auto queue = std::make_unique<Queue>(kCapacity);
    // Bounds an unbounded queue.
    std::atomic<std::uint64_t> popped{0};
    std::barrier together(static_cast<std::ptrdiff_t>(producers) + 1);
    std::vector<std::jthread> threads;
    for (std::size_t producer = 0; producer < producers; ++producer) {
        threads.emplace_back([&, producer] {
            bench::run_on(cores.second);
            bench::Message message{};
            message.back() = producer;
            together.arrive_and_wait();
            for (std::uint64_t i = 1; i <= each; ++i) {
                message[0] = i;
                // A producer that must wait yields its processor at once.
                while (i * producers > popped.load(std::memory_order_relaxed) + kCapacity || !queue->push(message)) {
                    sched_yield();
                }
            }
        });
    }
    bench::run_on(cores.first);
    std::vector<std::uint64_t> last(producers);
    bench::Message message{};
    std::uint64_t answer = 0;
    together.arrive_and_wait();
    const auto nanos = bench::nanos_each(each * producers, [&] {
        for (std::uint64_t i = 1; i <= each * producers; ++i) {
            bench::spin_until([&] { return queue->pop(message); });
            if (++last[message.back()] != message[0]) throw std::runtime_error("a producer's messages changed places");
            answer += message[0];
            if (i % 256 == 0) popped.store(i, std::memory_order_relaxed);
        }
    });
    return {.value = nanos, .answer = answer};
}

}  // namespace

int main() {
    const std::vector<std::size_t> counts{1, 2, 4, 8, 16};
    std::vector<bench::Contender> contenders;
    std::string missing;
    bench::add_line(contenders, "MpscRing", counts, stream<OurRing>);
    bench::add_line(contenders, "boost::lockfree::queue", counts, stream<bench::BoostQueue<bench::Message>>);
#ifdef MILLPOND_BENCH_CONCURRENTQUEUE
    bench::add_line(contenders, "moodycamel::ConcurrentQueue", counts, stream<bench::ConcurrentQueue<bench::Message>>);
#else
    missing += "; moodycamel::ConcurrentQueue, which is not installed here";
#endif
#ifdef MILLPOND_RIVAL_CRATES
    bench::add_line(contenders, "crossbeam ArrayQueue (Rust)", counts, stream<bench::CrossbeamQueue<bench::Message>>);
#else
    missing += "; crossbeam, which is not installed here";
#endif
    bench::compare(
        {.question = "What does a message from many threads to one cost while the producers grow?",
         .unit = "ns/message",
         .curve = bench::Curve{.axis = "producers",
                               .knees = {{.at = 2,
                                          .why = "MpscRing and ConcurrentQueue cost a little less with two producers "
                                                 "than with one; the producers share one processor, so that more of "
                                                 "them push no more at a time"},
                                         {.at = 16,
                                          .why = "ConcurrentQueue costs more; it has a queue for each producer, and "
                                                 "the likely reason is that the consumer looks into more of them. "
                                                 "MpscRing does not rise. The rounds of crossbeam and "
                                                 "boost::lockfree are of two kinds, fast and up to ten times as slow, "
                                                 "at every number of producers, so that their lines jump; why was not "
                                                 "examined"}}},
         .measured = "112 bytes a message; the producers share one processor, the consumer has the other and checks "
                     "that each producer's messages come in order; at most 4,096 are queued",
         .not_measured = "construction, waking a sleeping consumer" + missing},
        contenders);
}
