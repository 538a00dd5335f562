#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/memory/block_pool.hpp>
#include <millpond/memory/message_pool.hpp>
#include <millpond/memory/numa_topology.hpp>

namespace millpond::memory {

struct NumaPoolOptions {
    PoolOptions pool{};  ///< Of each node's pool; its name gets ".node<number>", its Region that node.
    bool borrow{true};   ///< If the caller's node is exhausted, acquire a block of another node, and count it.
};

[[nodiscard]] inline PoolOptions& pool_options(NumaPoolOptions& options) noexcept { return options.pool; }

struct NumaNodeStats {
    int node{0};
    PoolStats pool{};
    std::uint64_t borrowed{0};  ///< Blocks acquired by callers of other nodes.
};

/// A BlockPool for each NUMA node: a block comes from the node on which the caller runs, and returns to it wherever it
/// is released. With one node it is one BlockPool. Functions without a comment are those of BlockPool, for all nodes.
///
/// Threads: any, see BlockPool. A thread that moves between nodes has a cache of each pool.
/// Memory:  that of a BlockPool for each node, bound to it.
template <class Policy = Unchecked>
class BasicNumaPool {
public:
    using Place = typename Policy::Place;
    using Options = NumaPoolOptions;
    class Cache;

    /// capacity: blocks of each node. Throws like BlockPool.
    BasicNumaPool(std::size_t block_bytes, std::size_t capacity, const NumaPoolOptions& options = {},
                  NumaTopology topology = NumaTopology::of_system());

    /// Null, which is counted, if the caller's node is exhausted and no block of another node may be or is available.
    [[nodiscard]] void* try_acquire(Place place = Place::current()) noexcept {
        if (others_ == 0) return front_->try_acquire(place);
        return acquire_near([&](std::size_t node) { return homes_[node].pool->try_acquire(place); });
    }

    /// Returns a block to its node. O(nodes). A pointer that is not a block ends the program, as in BlockPool.
    void release(void* block) noexcept { pool_of(block).release(block); }

    /// Fills all of `blocks`, from other nodes too if the caller's has too few; or returns false and fills none.
    [[nodiscard]] bool try_acquire_batch(std::span<void*> blocks, Place place = Place::current()) noexcept {
        return acquire_batch_as(blocks, place);
    }
    template <class Element>
    [[nodiscard]] bool acquire_batch_as(std::span<Element*> blocks, Place place) noexcept;
    void release_batch(std::span<void* const> blocks) noexcept;

    /// Creates the calling thread's caches of all nodes now. False if one of them is missing.
    bool prewarm() noexcept;

    [[nodiscard]] bool owns(const void* block) const noexcept { return pool_of(block).owns(block); }
    void require_in_use(const void* block) const noexcept { pool_of(block).require_in_use(block); }
    [[nodiscard]] std::size_t node_count() const noexcept { return homes_.size(); }
    /// Sum of the nodes' capacities.
    [[nodiscard]] std::size_t capacity() const noexcept { return homes_.size() * front_->capacity(); }
    [[nodiscard]] std::size_t block_bytes() const noexcept { return front_->block_bytes(); }
    [[nodiscard]] std::size_t alignment() const noexcept { return front_->alignment(); }
    /// The name in the options; with several nodes, their pools' names are longer.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Sums over all nodes; the high-water mark is the sum of the nodes' marks.
    [[nodiscard]] PoolStats stats() const;
    /// Statistics of each node, in the order of their numbers.
    [[nodiscard]] std::vector<NumaNodeStats> node_stats() const;
    /// False if a node was not reset because the pool was not idle; others may have been reset.
    bool reset() noexcept;
    template <class Visit>
    void for_each_live(Visit&& visit) const;
    [[nodiscard]] std::string audit() const;

private:
    using Pool = BasicBlockPool<Policy>;
    struct Home {
        int node;
        std::unique_ptr<Pool> pool;
        std::unique_ptr<std::atomic<std::uint64_t>> borrowed;
    };

    /// acquire(node's index) returns a block or null.
    template <class Acquire>
    [[nodiscard]] void* acquire_near(Acquire&& acquire) noexcept;
    /// Implements acquire_batch_as. acquire_all() fills all blocks from the caller's node or none.
    template <class Element, class AcquireAll, class Acquire, class Release>
    [[nodiscard]] bool acquire_batch_near(std::span<Element*> blocks, AcquireAll&& acquire_all, Acquire&& acquire,
                                          Release&& release) noexcept;
    /// Index of the node that owns the block; the first node for foreign pointers, whose pool then ends the program.
    [[nodiscard]] std::size_t home_of(const void* block) const noexcept {
        for (std::size_t node = 0; node < homes_.size(); ++node) {
            if (homes_[node].pool->owns(block)) return node;
        }
        return 0;
    }
    [[nodiscard]] Pool& pool_of(const void* block) const noexcept {
        return others_ == 0 ? *front_ : *homes_[home_of(block)].pool;
    }
    /// Calls release_run(node's index, blocks) for each run of blocks of one node.
    template <class ReleaseRun>
    void release_runs(std::span<void* const> blocks, ReleaseRun&& release_run) const noexcept;
    [[nodiscard]] std::size_t here() const noexcept { return others_ == 0 ? 0 : topology_.here(); }

    std::string name_;
    NumaTopology topology_;
    bool borrow_;
    std::vector<Home> homes_;
    Pool* front_{nullptr};
    std::size_t others_{0};  // Number of nodes beyond the first.
};

using NumaPool = BasicNumaPool<Unchecked>;
using CheckedNumaPool = BasicNumaPool<Checked>;

/// Messages in the blocks of a NumaPool, whose topology may follow the options.
template <class T, class Policy = Unchecked>
using NumaMessagePool = MessagePool<T, Policy, BasicNumaPool<Policy>>;

/// Explicit cache of each node's pool: see BlockPool::Cache.
template <class Policy>
class BasicNumaPool<Policy>::Cache {
public:
    explicit Cache(BasicNumaPool& pool);

    [[nodiscard]] void* try_acquire(Place place = Place::current()) noexcept {
        if (caches_.size() == 1) return caches_.front().try_acquire(place);
        return pool_->acquire_near([&](std::size_t node) { return caches_[node].try_acquire(place); });
    }
    void release(void* block) noexcept { caches_[pool_->home_of(block)].release(block); }
    [[nodiscard]] bool try_acquire_batch(std::span<void*> blocks, Place place = Place::current()) noexcept;
    void release_batch(std::span<void* const> blocks) noexcept {
        pool_->release_runs(blocks, [&](std::size_t node, auto run) { caches_[node].release_batch(run); });
    }

private:
    BasicNumaPool* pool_;
    std::vector<typename Pool::Cache> caches_;
};

template <class Policy>
template <class Acquire>
void* BasicNumaPool<Policy>::acquire_near(Acquire&& acquire) noexcept {
    const auto near = here();
    void* block = acquire(near);
    for (std::size_t away = 1; block == nullptr && borrow_ && away <= others_; ++away) {
        const auto node = (near + away) % homes_.size();
        block = acquire(node);
        if (block != nullptr) homes_[node].borrowed->fetch_add(1, std::memory_order_relaxed);
    }
    return block;
}

template <class Policy>
template <class Element, class AcquireAll, class Acquire, class Release>
bool BasicNumaPool<Policy>::acquire_batch_near(std::span<Element*> blocks, AcquireAll&& acquire_all, Acquire&& acquire,
                                               Release&& release) noexcept {
    const auto near = here();
    if (acquire_all(near)) return true;
    if (!borrow_ || others_ == 0) return false;
    std::size_t done = 0;
    std::size_t from_near = 0;
    for (std::size_t away = 0; away <= others_ && done < blocks.size(); ++away) {
        void* block = nullptr;
        while (done < blocks.size() && (block = acquire((near + away) % homes_.size())) != nullptr) {
            blocks[done++] = static_cast<Element*>(block);
        }
        if (away == 0) from_near = done;
    }
    if (done < blocks.size()) {
        while (done > 0) release(static_cast<void*>(blocks[--done]));
        return false;
    }
    for (auto* const block : blocks.subspan(from_near)) {
        homes_[home_of(block)].borrowed->fetch_add(1, std::memory_order_relaxed);
    }
    return true;
}

template <class Policy>
template <class Element>
bool BasicNumaPool<Policy>::acquire_batch_as(std::span<Element*> blocks, Place place) noexcept {
    return acquire_batch_near(
        blocks, [&](std::size_t node) { return homes_[node].pool->acquire_batch_as(blocks, place); },
        [&](std::size_t node) { return homes_[node].pool->try_acquire(place); }, [&](void* block) { release(block); });
}

template <class Policy>
template <class ReleaseRun>
void BasicNumaPool<Policy>::release_runs(std::span<void* const> blocks, ReleaseRun&& release_run) const noexcept {
    while (!blocks.empty()) {
        const auto node = home_of(blocks.front());
        std::size_t run = 1;
        while (run < blocks.size() && home_of(blocks[run]) == node) ++run;
        release_run(node, blocks.first(run));
        blocks = blocks.subspan(run);
    }
}

template <class Policy>
void BasicNumaPool<Policy>::release_batch(std::span<void* const> blocks) noexcept {
    release_runs(blocks, [&](std::size_t node, auto run) { homes_[node].pool->release_batch(run); });
}

template <class Policy>
bool BasicNumaPool<Policy>::Cache::try_acquire_batch(std::span<void*> blocks, Place place) noexcept {
    return pool_->acquire_batch_near(
        blocks, [&](std::size_t node) { return caches_[node].try_acquire_batch(blocks, place); },
        [&](std::size_t node) { return caches_[node].try_acquire(place); }, [&](void* block) { release(block); });
}

}  // namespace millpond::memory

#include <millpond/memory/detail/numa_pool_cold.hpp>
