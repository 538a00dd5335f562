// Measured:     a hundred blocks at a time, of which the first word is written and read, while the size grows.
// Not measured: filling the blocks, construction, first touch, other threads.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/memory/block_pool.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"
#include "bench/memory/block_sources.hpp"
#include "bench/memory/contenders.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kHeld = 100;
constexpr std::size_t kCapacity = 1'024;
constexpr std::size_t kPasses = 15;

template <class Source>
bench::Finding bulk(std::size_t bytes) {
    Source source(bytes, kCapacity);
    auto&& blocks = bench::local(source);
    std::vector<void*> all(kHeld);
    const auto rounds = bench::scaled(20'000) / kHeld;
    std::uint64_t answer = 0;
    const auto nanos = bench::typical_own_nanos_each(kPasses, rounds * kHeld, [&] {
        for (std::size_t round = 0; round < rounds; ++round) {
            for (auto& block : all) *static_cast<std::uint64_t*>(block = blocks.acquire()) = round + 1;
            for (void* const block : all) {
                answer += *static_cast<std::uint64_t*>(block);
                blocks.release(block);
            }
        }
    });
    return {.value = nanos, .answer = answer};
}

}  // namespace

int main() {
    const std::vector<std::size_t> sizes{16, 64, 256, 1'024, 4'096, 16'384, 65'536};
    std::vector<bench::Contender> contenders;
    bench::add_line(contenders, bench::kArray, sizes, bulk<bench::ArrayBlocks>);
    bench::add_line(contenders, bench::kCache, sizes, bulk<bench::CachedBlocks<memory::BlockPool>>);
    bench::add_line(contenders, bench::kPool, sizes, bulk<bench::PoolBlocks<memory::BlockPool>>);
#ifdef MILLPOND_RIVAL_CRATES
    bench::add_line(contenders, "mimalloc 3", sizes, bulk<bench::Mimalloc3Blocks>);
#endif
    bench::add_line(contenders, "glibc", sizes, bulk<bench::GlibcBlocks>);
    bench::compare(
        {.question = "What does a block cost while the size of the blocks grows?",
         .unit = "ns/acquire + release",
         .curve =
             bench::Curve{
                 .axis = "bytes a block",
                 .knees = {{.at = 1'024,
                            .why = "an allocator that keeps large blocks elsewhere than small ones (glibc's "
                                   "thread cache ends here) takes its slow way; a pool knows one size only"},
                           {.at = 4'096,
                            .why =
                                "blocks exactly a page apart share a few sets of the first-level cache: the "
                                "reference's array "
                                "pays for it, while the pool's blocks lie one line more than a page apart; glibc gives "
                                "freed memory of this size back to the kernel and faults it in again"}}},
         .measured = "a hundred blocks are acquired and a word written to each, then read and released in the same "
                     "order",
         .not_measured = "filling the blocks, construction, first touch, other threads"},
        contenders);
}
