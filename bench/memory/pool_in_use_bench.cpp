// Measured:     exchanging a random block while the number of blocks in use grows.
// Not measured: construction, first touch, other threads.
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <millpond/memory/block_pool.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"
#include "bench/memory/block_sources.hpp"
#include "bench/memory/cache_knees.hpp"
#include "bench/memory/contenders.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kBytes = 64;
constexpr std::size_t kSpare = 1'024;  // blocks beyond those in use
constexpr std::size_t kBurst = 16;     // blocks released before as many are acquired
// Few exchanges per pass, so that most passes end before the kernel runs another process.
constexpr std::size_t kPass = 8'000;
constexpr std::size_t kPasses = 60;

template <class Source>
bench::Finding exchange(std::size_t in_use) {
    Source source(kBytes, in_use + kSpare);
    auto&& blocks = bench::local(source);
    std::vector<void*> live(in_use);
    for (auto& block : live) *static_cast<std::uint64_t*>(block = blocks.acquire()) = 1;
    std::minstd_rand random(7);
    std::vector<std::uint32_t> places(bench::scaled(kPasses) * kPass);
    for (auto& place : places) place = static_cast<std::uint32_t>(random() % in_use);
    std::vector<void*> gone(kBurst);
    std::uint64_t answer = 0;
    std::size_t next = 0;
    const auto nanos = bench::typical_own_nanos_each(places.size() / kPass, kPass, [&] {
        for (const auto end = next + kPass; next < end; next += kBurst) {
            // A position drawn twice in a burst is exchanged once.
            for (std::size_t j = 0; j < kBurst; ++j) {
                auto& block = live[places[next + j]];
                if (block == nullptr) continue;
                answer += *static_cast<std::uint64_t*>(block);
                blocks.release(block);
                block = nullptr;
            }
            for (std::size_t j = 0; j < kBurst; ++j) {
                auto& block = live[places[next + j]];
                if (block == nullptr) *static_cast<std::uint64_t*>(block = blocks.acquire()) = 1;
            }
        }
    });
    for (void* const block : live) blocks.release(block);
    return {.value = nanos, .answer = answer};
}

}  // namespace

int main() {
    const std::vector<std::size_t> counts{10, 100, 1'000, 10'000, 100'000, 1'000'000};
    std::vector<bench::Contender> contenders;
    bench::add_line(contenders, bench::kArray, counts, exchange<bench::ArrayBlocks>);
    bench::add_line(contenders, bench::kCache, counts, exchange<bench::CachedBlocks<memory::BlockPool>>);
    bench::add_line(contenders, bench::kPool, counts, exchange<bench::PoolBlocks<memory::BlockPool>>);
#ifdef MILLPOND_RIVAL_CRATES
    bench::add_line(contenders, "mimalloc 3", counts, exchange<bench::Mimalloc3Blocks>);
#endif
    bench::add_line(contenders, "glibc", counts, exchange<bench::GlibcBlocks>);
    bench::compare({.question = "What does a block cost while the blocks in use grow?",
                    .unit = "ns/release + acquire",
                    .curve = bench::Curve{.axis = "blocks in use", .knees = bench::cache_knees(kBytes)},
                    .measured = "16 random blocks of 64 bytes are read and released, then as many acquired and "
                                "written to; the rest stays in use",
                    .not_measured = "construction, first touch, other threads"},
                   contenders);
}
