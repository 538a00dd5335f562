// Measured:     1,000 blocks at a time on one thread, or one after the other, with magazines of different sizes.
// Not measured: construction, first touch, other threads.
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/memory/block_sources.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kHeld = MILLPOND_BENCH_COUNT;

bench::Finding in_bulk(std::uint32_t magazine_blocks) {
    bench::CachedBlocks<memory::BlockPool> source(
        64, 8192, {.capacity_policy = memory::Capacity::elastic, .magazine_blocks = magazine_blocks});
    auto blocks = bench::local(source);
    constexpr std::size_t kMessages = 20'000;
    std::vector<void*> held(kHeld);
    const auto rounds = bench::scaled(kMessages) / kHeld;
    std::uint64_t answer = 0;
    const auto nanos = bench::typical_nanos_each(15, rounds * held.size(), [&] {
        for (std::size_t round = 0; round < rounds; ++round) {
            for (auto& block : held) *static_cast<std::uint64_t*>(block = blocks.acquire()) = round + 1;
            for (void* const block : held) {
                answer += *static_cast<std::uint64_t*>(block);
                blocks.release(block);
            }
        }
    });
    return {.value = nanos, .answer = answer};
}

}  // namespace

int main() {
    std::vector<bench::Contender> all{{"automatic", [] { return in_bulk(memory::kAutomaticMagazine); }}};
    for (const std::uint32_t blocks : {0U, 1U, 16U, 64U, 256U}) {
        all.push_back({"magazines of " + std::to_string(blocks), [blocks] { return in_bulk(blocks); }});
    }
    bench::compare({.question = "What does the size of a pool's magazines do?",
                    .unit = "ns/acquire + release",
                    .measured = std::to_string(kHeld) +
                                " blocks of 64 bytes acquired and written to, then read and released, by a cache",
                    .not_measured = "construction, first touch, other threads"},
                   all);
}
