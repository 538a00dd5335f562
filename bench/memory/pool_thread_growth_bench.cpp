// Measured:     pairs of acquire and release that all threads of one pool do together, while the threads grow.
// Not measured: construction, starting of the threads.
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/memory/block_pool.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"
#include "bench/memory/block_sources.hpp"
#include "bench/memory/contenders.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kBurst = 50;
constexpr std::size_t kCapacity = 16'384;

/// A pool with its default number of caches.
class DefaultPool {
public:
    DefaultPool(std::size_t bytes, std::size_t capacity) : pool_(bytes, capacity) {}
    void* acquire() { return pool_.try_acquire(); }
    void release(void* block) { pool_.release(block); }

private:
    memory::BlockPool pool_;
};

template <class Source>
bench::Finding at_once(std::size_t threads) {
    bench::run_on({bench::two_cores().first, bench::two_cores().second});
    Source source(64, kCapacity);
    const auto pairs = bench::scaled(400'000) / threads / kBurst * kBurst;
    std::atomic<std::uint64_t> answer{0};
    std::int64_t start = 0;
    std::barrier together(static_cast<std::ptrdiff_t>(threads), [&]() noexcept { start = core::monotonic_nanos(); });
    {
        std::vector<std::jthread> all;
        for (std::size_t i = 0; i < threads; ++i) {
            all.emplace_back([&] {
                auto&& blocks = bench::local(source);
                std::vector<void*> held(kBurst);
                together.arrive_and_wait();
                std::uint64_t sum = 0;
                for (std::size_t pair = 0; pair < pairs; pair += kBurst) {
                    for (auto& block : held) *static_cast<std::uint64_t*>(block = blocks.acquire()) = pair + 1;
                    for (void* const block : held) {
                        sum += *static_cast<std::uint64_t*>(block);
                        blocks.release(block);
                    }
                }
                answer.fetch_add(sum);
            });
        }
    }
    const auto nanos = static_cast<double>(core::monotonic_nanos() - start);
    return {.value = nanos / static_cast<double>(threads * pairs), .answer = answer.load()};
}

}  // namespace

int main() {
    const std::vector<std::size_t> counts{1, 2, 4, 8, 16, 32, 64, 128};
    std::vector<bench::Contender> contenders;
    bench::add_line(contenders, bench::kPool, counts, at_once<DefaultPool>);
#ifdef MILLPOND_RIVAL_CRATES
    bench::add_line(contenders, "mimalloc 3", counts, at_once<bench::Mimalloc3Blocks>);
#endif
    bench::add_line(contenders, "glibc", counts, at_once<bench::GlibcBlocks>);
    bench::add_line(contenders, "boost::lockfree::stack", counts, at_once<bench::LockfreeStackBlocks>);
    bench::compare(
        {.question = "What does a block cost while the threads of a pool grow?",
         .unit = "ns/pair, all threads together",
         .curve =
             bench::Curve{
                 .axis = "threads",
                 .knees = {{.at = 2,
                            .why = "two processors halve the cost of what shares nothing; what all threads write to "
                                   "(the head of a stack) costs more than on one"},
                           {.at = static_cast<double>(memory::PoolOptions{}.max_caches),
                            .why = "each thread beyond this many (max_caches) finds no cache and works at the depot, "
                                   "which all of them share; ask for as many caches as there are threads. Allocators "
                                   "become slower here as well, from switches between that many threads"}}},
         .measured = "pairs in bursts of 50, 64-byte blocks; the threads share two processors; the time of all "
                     "divided by the pairs of all",
         .not_measured = "construction, starting of the threads"},
        contenders);
}
