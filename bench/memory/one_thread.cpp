#include "bench/memory/one_thread.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/memory/contenders.hpp"

namespace millpond::bench {
namespace {

constexpr std::size_t kRounds = 27;  // allocators differ by less than a tenth

constexpr std::size_t kCapacity = 8192;
constexpr std::size_t kPasses = 15;
constexpr std::size_t kLive = 1000;
constexpr const char* kDefaults = "BlockPool::Cache, default options";
constexpr std::uint32_t kBatchMagazine = 384;  // two magazines have as many blocks as a cache of rte_mempool

void write(void* block, std::uint64_t value) { *static_cast<std::uint64_t*>(block) = value; }
std::uint64_t read(const void* block) { return *static_cast<const std::uint64_t*>(block); }

Finding repeat(std::size_t count, const std::function<std::uint64_t()>& work) {
    std::uint64_t answer = 0;
    const auto nanos = typical_nanos_each(kPasses, count, [&] { answer += work(); });
    return {.value = nanos, .answer = answer};
}

/// The index in kLive of the block to exchange next.
std::vector<std::uint32_t> random_places(std::size_t count) {
    std::minstd_rand random(7);
    std::vector<std::uint32_t> places(count);
    for (auto& place : places) place = static_cast<std::uint32_t>(random() % kLive);
    return places;
}

/// cache_at_most: the goal of the explicit cache, as a ratio to the array.
template <class Pattern>
void ask(const std::string& question, const std::string& measured, std::size_t bytes, double cache_at_most,
         Pattern pattern) {
    Contenders contenders(bytes, kCapacity, std::move(pattern));
    contenders.template add<ArrayBlocks>(kArray);
    contenders.add_ours();
    contenders.add_rivals();
    contenders.add_slow_rivals();
    contenders.add_unsafe();
    auto goals = contenders.ahead_of_rivals(kCache);
    std::ranges::copy(contenders.ahead_of_rivals(kPool), std::back_inserter(goals));
    goals.push_back({.contender = kCache, .to = kArray, .at_most = cache_at_most});
    goals.push_back({.contender = kPool, .to = kArray, .at_most = 1.5});
    goals.push_back({.contender = kChecked, .to = kArray, .at_most = 1.6});
    compare({.question = question,
             .unit = "ns/acquire + release",
             .runs = kRounds,
             .goals = std::move(goals),
             .measured = measured,
             .not_measured = "construction, first touch, other threads" + contenders.absent()},
            contenders.all());
}

}  // namespace

void ask_sequential(std::size_t block_bytes) {
    const auto count = scaled(20'000);
    ask("What does one block of " + std::to_string(block_bytes) + " bytes after the other cost?",
        "acquire, write a word, read it, release", block_bytes, 1.3, [count](auto& source) {
            auto&& blocks = local(source);
            return repeat(count, [&] {
                std::uint64_t answer = 0;
                for (std::size_t i = 1; i <= count; ++i) {
                    void* block = blocks.acquire();
                    keep(block);
                    write(block, i);
                    keep(block);
                    answer += read(block);
                    blocks.release(block);
                }
                return answer;
            });
        });
}

void ask_bulk(std::size_t block_bytes, std::size_t held) {
    const auto rounds = scaled(20'000) / held;
    ask("What do " + std::to_string(held) + " blocks of " + std::to_string(block_bytes) + " bytes at a time cost?",
        "that many are acquired and written to, then read and released in the same order", block_bytes, 1.05,
        [rounds, held](auto& source) {
            auto&& blocks = local(source);
            std::vector<void*> all(held);
            return repeat(rounds * held, [&] {
                std::uint64_t answer = 0;
                for (std::size_t round = 0; round < rounds; ++round) {
                    for (std::size_t i = 0; i < held; ++i) {
                        all[i] = blocks.acquire();
                        write(all[i], round + i);
                    }
                    for (void* const block : all) {
                        answer += read(block);
                        blocks.release(block);
                    }
                }
                return answer;
            });
        });
}

void ask_random(std::size_t block_bytes) {
    const auto count = scaled(20'000);
    const auto places = random_places(count);
    ask("What does exchanging random blocks of " + std::to_string(block_bytes) + " bytes cost?",
        "1,000 blocks are in use; a random one is read and released, another acquired and written to", block_bytes,
        1.05, [places](auto& source) {
            auto&& blocks = local(source);
            std::vector<void*> live(kLive);
            for (auto& block : live) write(block = blocks.acquire(), 1);
            auto found = repeat(places.size(), [&] {
                std::uint64_t answer = 0;
                for (const auto place : places) {
                    answer += read(live[place]);
                    blocks.release(live[place]);
                    live[place] = blocks.acquire();
                    write(live[place], place);
                }
                return answer;
            });
            for (void* const block : live) blocks.release(block);
            return found;
        });
}

void ask_batch(std::size_t count) {
    const auto rounds = scaled(200'000) / count;
    Contenders contenders(64, kCapacity, [rounds, count](auto& source) {
        auto&& blocks = local(source);
        std::vector<void*> batch(count);
        return repeat(rounds * count, [&] {
            std::uint64_t answer = 0;
            for (std::size_t round = 0; round < rounds; ++round) {
                answer += acquire_all(blocks, std::span(batch)) ? 1U : 0U;
                keep(batch.front());
                release_all(blocks, std::span<void* const>(batch));
            }
            return answer;
        });
    });
    contenders.add<ArrayBlocks>(kArray);
    contenders.add_ours(kBatchMagazine);
    contenders.add<CachedBlocks<memory::BlockPool>>(kDefaults, memory::PoolOptions{});
    contenders.add<SingleCalls<PoolBlocks<memory::BlockPool>>>("BlockPool, single calls");
    contenders.add_rivals();
    contenders.add_slow_rivals();
    auto goals = contenders.ahead_of_rivals(kCache);
    goals.push_back({.contender = kCache, .to = kArray, .at_most = 1.2});
#ifdef MILLPOND_RIVAL_DPDK
    goals.push_back({.contender = kDefaults, .to = "rte_mempool", .at_most = 1.0});
#endif
    compare({.question = "What does a block cost in batches of " + std::to_string(count) + "?",
             .unit = "ns/acquire + release",
             .runs = kRounds,
             .goals = std::move(goals),
             .measured =
                 "a batch of 64-byte blocks acquired and released, by one call where there is one; per block. A thread "
                 "keeps up to 768 blocks in two magazines of ours, as many in a cache of rte_mempool of size 512",
             .not_measured = "writing to the blocks, construction, other threads" + contenders.absent()},
            contenders.all());
}

void ask_tail() {
    constexpr std::size_t kBytes = 192;
    static const core::TickRate kRate;
    const auto places = random_places(scaled(200'000));
    Contenders contenders(kBytes, kCapacity, [places](auto& source) {
        auto&& blocks = local(source);
        std::vector<void*> live(kLive);
        for (auto& block : live) std::memset(block = blocks.acquire(), 1, kBytes);
        Finding found;
        found.latencies.reserve(places.size());
        for (const auto place : places) {
            found.answer += read(live[place]);
            blocks.release(live[place]);
            const auto start = core::ticks();
            void* const block = blocks.acquire();
            std::memset(block, static_cast<int>(place & 0x7F) + 1, kBytes);
            live[place] = block;
            const auto ticks = core::ticks() - start;
            found.latencies.push_back(static_cast<float>(static_cast<double>(ticks) * kRate.nanos_per_tick()));
        }
        for (void* const block : live) blocks.release(block);
        return found;
    });
    contenders.add<ArrayBlocks>(kArray);
    contenders.add_ours();
    contenders.add_rivals();
    contenders.add_slow_rivals();
    compare(
        {.question = "How long does a single acquisition take, at worst?",
         .unit = "ns/acquire + write",
         .goals = {{.contender = kCache, .to = kArray, .of = Statistic::p999, .at_most = 1.5},
                   {.contender = kPool, .to = kArray, .of = Statistic::p999, .at_most = 1.5}},
         .measured = "acquiring and writing all 192 bytes, one at a time, while 1,000 are in use and random ones are "
                     "exchanged; reading the counter of ticks is included",
         .not_measured = "release, construction" + contenders.absent()},
        contenders.all());
}

}  // namespace millpond::bench
