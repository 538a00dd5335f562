#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/memory/block_pool.hpp>
#include <millpond/memory/numa_topology.hpp>

namespace millpond::memory {

struct NumaPoolOptions {
    PoolOptions pool;   ///< Of each node's pool; its name gets ".node<number>", its Region that node.
    bool borrow{true};  ///< When the caller's node has no block left, take one of another node, and count it.
};

struct NumaNodeStats {
    int node{0};
    PoolStats pool;
    std::uint64_t lent{0};  ///< Blocks that went to callers of other nodes.
};

/// A BlockPool for each NUMA node: a block comes from the node where the caller runs, and goes home by its address,
/// wherever it is released. Where there is one node it is one BlockPool.
///
/// Threads: any, as BlockPool. A thread that wanders between nodes has a cache of each pool.
/// Memory:  as BlockPool, for each node, bound to it.
template <class Policy = Unchecked>
class BasicNumaPool {
public:
    using Place = typename Policy::Place;

    /// capacity: blocks of each node. Throws as BlockPool does.
    BasicNumaPool(std::size_t block_bytes, std::size_t capacity, const NumaPoolOptions& options = {},
                  NumaTopology topology = NumaTopology::of_system());

    /// Null, and counted, when the pool of the caller's node is exhausted and no other may or can lend.
    [[nodiscard]] void* try_acquire(Place place = Place::current()) noexcept {
        return others_ == 0 ? front_->try_acquire(place) : acquire_near(place);
    }

    /// Takes back a block to the node that it came from. O(nodes). A pointer that is no block ends the program, as in
    /// BlockPool.
    void release(void* block) noexcept {
        if (others_ == 0) return front_->release(block);
        home_of(block).release(block);
    }

    [[nodiscard]] bool owns(const void* block) const noexcept { return home_of(block).owns(block); }
    [[nodiscard]] std::size_t node_count() const noexcept { return homes_.size(); }
    /// One for each node, in the order of their numbers.
    [[nodiscard]] std::vector<NumaNodeStats> stats() const;
    /// Empty, or a description of the error; see BlockPool.
    [[nodiscard]] std::string audit() const;

private:
    using Pool = BasicBlockPool<Policy>;
    struct Home {
        int node;
        std::unique_ptr<Pool> pool;
        std::unique_ptr<std::atomic<std::uint64_t>> lent;
    };

    [[nodiscard]] void* acquire_near(Place place) noexcept;
    /// The first one for a pointer that no pool owns: it refuses it.
    [[nodiscard]] Pool& home_of(const void* block) const noexcept {
        for (const auto& home : homes_) {
            if (home.pool->owns(block)) return *home.pool;
        }
        return *front_;
    }

    NumaTopology topology_;
    bool borrow_;
    std::vector<Home> homes_;
    Pool* front_{nullptr};
    std::size_t others_{0};  // Nodes beyond the first.
};

using NumaPool = BasicNumaPool<Unchecked>;

template <class Policy>
BasicNumaPool<Policy>::BasicNumaPool(std::size_t block_bytes, std::size_t capacity, const NumaPoolOptions& options,
                                     NumaTopology topology)
    : topology_(std::move(topology)), borrow_(options.borrow) {
    if (topology_.nodes.empty()) throw std::invalid_argument("a NUMA topology without nodes, the least is 1");
    for (const auto node : topology_.nodes) {
        auto of_node = options.pool;
        if (topology_.nodes.size() > 1) {
            of_node.name += ".node" + std::to_string(node);
            if (topology_.bind) of_node.region.numa_node = node;
        }
        homes_.push_back({node, std::make_unique<Pool>(block_bytes, capacity, of_node),
                          std::make_unique<std::atomic<std::uint64_t>>(0)});
    }
    for (const auto index : topology_.index_of_cpu) {
        if (index >= homes_.size()) {
            throw std::invalid_argument("a processor of NUMA node index " + std::to_string(index) + ", there are " +
                                        std::to_string(homes_.size()));
        }
    }
    front_ = homes_.front().pool.get();
    others_ = homes_.size() - 1;
}

template <class Policy>
void* BasicNumaPool<Policy>::acquire_near(Place place) noexcept {
    const auto here = topology_.here();
    void* block = homes_[here].pool->try_acquire(place);
    for (std::size_t away = 1; block == nullptr && borrow_ && away <= others_; ++away) {
        auto& home = homes_[(here + away) % homes_.size()];
        block = home.pool->try_acquire(place);
        if (block != nullptr) home.lent->fetch_add(1, std::memory_order_relaxed);
    }
    return block;
}

template <class Policy>
std::vector<NumaNodeStats> BasicNumaPool<Policy>::stats() const {
    std::vector<NumaNodeStats> all;
    for (const auto& home : homes_) {
        all.push_back({home.node, home.pool->stats(), home.lent->load(std::memory_order_relaxed)});
    }
    return all;
}

template <class Policy>
std::string BasicNumaPool<Policy>::audit() const {
    for (const auto& home : homes_) {
        if (auto fault = home.pool->audit(); !fault.empty()) return fault;
    }
    return {};
}

}  // namespace millpond::memory
