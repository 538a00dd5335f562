// Measured:     so many threads that acquire and release blocks of one pool of 1,000 at the same time.
// Not measured: construction, starting of the threads.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/memory/contenders.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kThreads = MILLPOND_BENCH_THREADS;
constexpr std::size_t kPairs = MILLPOND_BENCH_PAIRS;
constexpr std::size_t kBurst = 50;

bench::Finding at_once(auto& source) {
    std::atomic<std::size_t> ready{0};
    std::atomic<std::uint64_t> answer{0};
    std::int64_t start = 0;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < kThreads; ++i) {
            threads.emplace_back([&] {
                auto&& blocks = bench::local(source);
                std::vector<void*> held(kBurst);
                ready.fetch_add(1);
                bench::spin_until([&] { return ready.load() > kThreads; });
                for (std::size_t pair = 0; pair < kPairs; pair += kBurst) {
                    for (auto& block : held) *static_cast<std::uint64_t*>(block = blocks.acquire()) = pair + 1;
                    for (void* const block : held) blocks.release(block);
                }
                answer.fetch_add(kPairs);
            });
        }
        bench::spin_until([&] { return ready.load() == kThreads; });
        start = core::monotonic_nanos();
        ready.fetch_add(1);
    }
    const auto nanos = static_cast<double>(core::monotonic_nanos() - start);
    return {.value = static_cast<double>(kThreads * kPairs) * 1e3 / nanos, .answer = answer.load()};
}

}  // namespace

int main() {
    bench::Contenders contenders(64, 1000, [](auto& source) { return at_once(source); });
    contenders.add_ours();
    contenders.add_rivals();
    bench::compare(
        {.question = "How many blocks do " + std::to_string(kThreads) + " threads get of one pool?",
         .unit = "M pairs/s",
         .measured = std::to_string(kPairs) + " pairs a thread in bursts of 50, 64-byte blocks; the threads share "
                                              "the processors",
         .not_measured = "construction, starting of the threads" + contenders.absent()},
        contenders.all());
}
