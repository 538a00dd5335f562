// Counted:     acquiring and releasing blocks and messages of a pool whose thread has its cache.
// Not counted: construction, a thread's first operation.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <millpond/memory/block_pool.hpp>
#include <millpond/memory/message_pool.hpp>

#include "bench/callgrind/cases.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kPairs = 4096;

struct Order {
    std::uint64_t id;
    std::array<std::uint64_t, 7> rest;
};

std::uint64_t address(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

/// One block at a time.
template <class Blocks>
std::uint64_t alternate(Blocks& blocks) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kPairs; ++i) {
        void* const block = blocks.try_acquire();
        sum += address(block);
        blocks.release(block);
    }
    return sum;
}

/// 1,000 blocks at a time, so that magazines are exchanged.
template <class Blocks>
std::uint64_t in_bulk(Blocks& blocks) {
    static std::array<void*, kPairs / 4> held;
    for (int round = 0; round < 4; ++round) {
        for (auto& block : held) block = blocks.try_acquire();
        for (void* const block : held) blocks.release(block);
    }
    return held.size();
}

template <class Blocks>
std::uint64_t in_batches(Blocks& blocks) {
    static std::array<void*, 128> batch;
    std::uint64_t done = 0;
    for (std::size_t i = 0; i < kPairs / batch.size(); ++i) {
        done += blocks.try_acquire_batch(batch) ? 1U : 0U;
        blocks.release_batch(batch);
    }
    return done;
}

std::uint64_t make(memory::MessagePool<Order>& pool) {
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i <= kPairs; ++i) {
        const auto order = pool.try_make(Order{i, {}});
        sum += order->id;
    }
    return sum;
}

}  // namespace

int main() {
    std::vector<std::unique_ptr<memory::BlockPool>> others;
    for (int i = 0; i < 64; ++i) {
        others.push_back(std::make_unique<memory::BlockPool>(sizeof(Order), 100));
        others.back()->prewarm();
    }
    memory::BlockPool pool(sizeof(Order), 8192);
    memory::BlockPool::Cache cache(pool);
    memory::BlockPool strict(sizeof(Order), 8192, {.capacity_policy = memory::Capacity::strict});
    memory::CheckedBlockPool checked(sizeof(Order), 8192);
    memory::MessagePool<Order> messages(8192);
    return bench::count_cases({
        {"a pair by a cache", kPairs, [&] { return alternate(cache); }},
        {"a pair by the pool, of 65 pools", kPairs, [&] { return alternate(pool); }},
        {"a pair of a strict pool", kPairs, [&] { return alternate(strict); }},
        {"a pair of a checked pool", kPairs, [&] { return alternate(checked); }},
        {"a pair by a cache, 1,024 at a time", kPairs, [&] { return in_bulk(cache); }},
        {"a pair by a cache, in batches of 128", kPairs, [&] { return in_batches(cache); }},
        {"a message made and released", kPairs, [&] { return make(messages); }},
    });
}
