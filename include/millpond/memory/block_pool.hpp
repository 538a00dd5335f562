#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/memory/detail/block_cache.hpp>
#include <millpond/memory/detail/block_ledger.hpp>
#include <millpond/memory/detail/credits.hpp>
#include <millpond/memory/detail/depot.hpp>
#include <millpond/memory/detail/pool_layout.hpp>
#include <millpond/memory/detail/thread_slots.hpp>
#include <millpond/memory/pool_options.hpp>
#include <millpond/memory/pool_policy.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::memory {

/// Pool of fixed-size blocks in one Region. Acquire and release are O(1), on any thread, in any order.
///
/// Threads: any. A thread keeps free blocks in a separate cache, which is returned when the thread ends; up to
///          PoolOptions::max_caches threads have one, others share one behind a lock and are counted
///          (stats().uncached). No thread may use the pool during its construction or destruction; a thread that used
///          it may end later. After fork only the child of a process with one thread may continue to use it.
/// Memory:  one Region, allocated in the constructor; 8 KiB of heap for each thread at its first use, see prewarm.
/// Source:  Bonwick and Adams 2001, "Magazines and Vmem"; docs/internals/memory.md lists the differences.
template <class Policy = Unchecked>
class BasicBlockPool {
public:
    using Place = typename Policy::Place;
    using Options = PoolOptions;
    class Cache;

    /// block_bytes: size of each block. capacity: N; the pool does not refuse while fewer than N blocks are in use.
    /// Throws std::invalid_argument naming the value and the bound, RegionError, std::length_error at 1024 pools.
    BasicBlockPool(std::size_t block_bytes, std::size_t capacity, const PoolOptions& options = {});
    BasicBlockPool(const BasicBlockPool&) = delete;
    BasicBlockPool& operator=(const BasicBlockPool&) = delete;
    /// A checked pool ends the program when blocks are in use, naming where one was acquired.
    ~BasicBlockPool();

    /// Returns an uninitialised block; null if the pool is exhausted, which is counted.
    [[nodiscard]] void* try_acquire(Place place = Place::current()) noexcept;

    /// Returns a block to the pool. A pointer that is not one of its blocks ends the program with a message, in every
    /// build.
    void release(void* block) noexcept;

    /// Fills all of `blocks`, or returns false and fills none. O(blocks.size()).
    [[nodiscard]] bool try_acquire_batch(std::span<void*> blocks, Place place = Place::current()) noexcept {
        return acquire_batch_as(blocks, place);
    }
    void release_batch(std::span<void* const> blocks) noexcept;
    /// Like try_acquire_batch, into pointers to the objects that will be constructed in the blocks.
    template <class Element>
    [[nodiscard]] bool acquire_batch_as(std::span<Element*> blocks, Place place) noexcept;

    /// Creates the calling thread's cache now instead of in its first acquire. False if it gets none.
    bool prewarm() noexcept { return cache_of_this_thread() != nullptr; }

    /// Whether `block` belongs to this pool, in use or not.
    [[nodiscard]] bool owns(const void* block) const noexcept { return grid_.holds(block); }
    /// Ends the program with a message if a checked pool's block is not in use.
    void require_in_use(const void* block) const noexcept {
        if constexpr (Policy::kChecked) ledger_.require_out(index_of(block), block);
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return layout_.capacity; }
    [[nodiscard]] std::size_t block_bytes() const noexcept { return layout_.block_bytes; }
    [[nodiscard]] std::size_t alignment() const noexcept { return layout_.alignment; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const Region& region() const noexcept { return region_; }

    /// Sums the counters of all caches. Does not stop threads that have a cache.
    [[nodiscard]] PoolStats stats() const;

    /// Resets the counts. Returns false and does nothing if a block is in use. The pool must be idle.
    bool reset() noexcept;

    /// Calls visit(void*) for each block in use. The pool must be idle. O(owned), allocates.
    template <class Visit>
    void for_each_live(Visit&& visit) const;

    /// Verifies that every block is in one place and every magazine is accounted for. Returns the fault, or an empty
    /// string. The pool must be idle. O(owned), allocates.
    [[nodiscard]] std::string audit() const;

private:
    using BlockCache = detail::BlockCache;
    struct NoLedger {};
    using Ledger = std::conditional_t<Policy::kChecked, detail::BlockLedger, NoLedger>;
    static constexpr std::size_t kRecordBytes = Policy::kChecked ? sizeof(detail::BlockLedger::Record) : 0;
    static constexpr std::size_t kGuardBytes = Policy::kChecked ? detail::BlockLedger::kGuardBytes : 0;

    [[nodiscard, gnu::always_inline]] void* acquire_with(BlockCache& cache, Place place) noexcept;
    [[gnu::always_inline]] void release_with(BlockCache& cache, void* block) noexcept;
    [[nodiscard, gnu::noinline]] static void* acquire_slowly(BlockCache& cache, Place place) noexcept;
    [[nodiscard, gnu::noinline]] static void* acquire_exchanging(BlockCache& cache, Place place) noexcept;
    [[gnu::noinline]] static void release_slowly(BlockCache& cache, std::byte* block) noexcept;
    [[gnu::noinline]] static void release_exchanging(BlockCache& cache, std::byte* block) noexcept;
    template <class Element>
    [[nodiscard, gnu::always_inline]] bool acquire_batch_with(BlockCache& cache, std::span<Element*> blocks,
                                                              Place place) noexcept;
    [[gnu::always_inline]] void release_batch_with(BlockCache& cache, std::span<void* const> blocks) noexcept;
    /// For batches from several magazines, and for pools whose operations all take the slow path.
    template <class Element>
    [[nodiscard, gnu::noinline]] bool acquire_batches(BlockCache& cache, std::span<Element*> blocks,
                                                      Place place) noexcept;
    [[gnu::noinline]] void release_batches(BlockCache& cache, std::span<void* const> blocks) noexcept;
    [[nodiscard]] void* acquire_uncached(Place place) noexcept;
    void release_uncached(void* block) noexcept;

    void put(BlockCache& cache, std::byte* block) noexcept;
    [[noreturn, gnu::noinline]] static void refuse_batch(const BlockCache& cache,
                                                         std::span<void* const> blocks) noexcept;
    [[noreturn, gnu::noinline]] static void refuse_foreign(const BlockCache& cache, const void* block) noexcept;
    [[nodiscard]] std::uint32_t index_of(const void* block) const noexcept {
        return static_cast<std::uint32_t>(grid_.index_of(block));
    }
    template <class Element>
    [[nodiscard]] static std::byte* bytes_of(Element* element) noexcept {
        return static_cast<std::byte*>(static_cast<void*>(element));
    }
    [[nodiscard]] BlockCache* cache_of_this_thread() noexcept;
    [[nodiscard]] BlockCache* attach() noexcept;
    [[nodiscard]] bool attach(BlockCache& held);
    void describe(BlockCache& cache) noexcept {
        cache.describe(this, grid_, layout_, reinterpret_cast<std::byte**>(region_.data() + layout_.magazines_at));
    }
    /// Under the mutex.
    void equip(BlockCache& cache) noexcept;
    void detach(BlockCache& cache) noexcept;
    void detach_held(BlockCache& cache) noexcept;
    void move_held(BlockCache& from, BlockCache& to) noexcept;
    void drain(BlockCache& cache) noexcept;
    /// The threads' caches, then the shared one.
    [[nodiscard]] std::span<BlockCache> own_caches() const noexcept {
        return {caches_, layout_.caches + std::size_t{1}};
    }
    [[nodiscard]] BlockCache& shared_cache() const noexcept { return caches_[layout_.caches]; }
    /// Calls visit(BlockCache&) for each cache whose counts belong to the pool's; under the mutex.
    template <class Visit>
    void for_each_cache(Visit&& visit) const;
    [[nodiscard]] std::uint64_t count_in_use() const noexcept;
    [[nodiscard]] std::uint64_t count_released() const noexcept;
    /// Lower bound of the blocks in use at some moment of the call, too low by at most two magazines for each cache.
    /// Under the mutex.
    [[nodiscard]] std::uint64_t min_in_use() const noexcept;
    /// Under the mutex.
    [[nodiscard]] std::vector<bool> free_blocks(std::string& fault) const;
    static std::span<detail::CreditAccount> make_accounts(std::byte* memory, const detail::PoolLayout& layout);
    static Ledger make_ledger(const std::string& name, std::byte* memory, const detail::PoolLayout& layout, bool fill);

    std::string name_;
    detail::PoolLayout layout_;
    Region region_;
    detail::BlockGrid grid_;
    BlockCache* caches_;  // The last one is the shared one.
    [[no_unique_address]] Ledger ledger_;
    detail::Depot<Policy> depot_;
    detail::Credits<Policy> credits_;                             // Used by strict pools.
    alignas(core::kFalseSharingRange) mutable std::mutex mutex_;  // For all below and the shared cache.
    std::uint32_t attached_{0};
    std::vector<BlockCache*> held_;  // The explicit caches.
    mutable BlockCache gone_;        // Sum of the counts of destroyed explicit caches.
    mutable std::uint64_t max_acquired_{0};
    mutable std::uint64_t high_water_in_use_{0};  // The highest number in use that stats() has returned.
    core::Tally uncached_;
    alignas(core::kFalseSharingRange) detail::PoolSlot slot_;  // Last, so that threads forget the pool first.
};

using BlockPool = BasicBlockPool<Unchecked>;
using CheckedBlockPool = BasicBlockPool<Checked>;

/// Explicit cache: the shortest path to a block, without the lookup of the calling thread's cache.
///
/// Threads: one at a time. The pool must outlive it. A moved-from cache may only be assigned to or destroyed.
/// Memory:  256 bytes, of cache lines that no other thread writes.
template <class Policy>
class BasicBlockPool<Policy>::Cache {
public:
    /// Throws std::length_error if all of the pool's max_caches are in use.
    explicit Cache(BasicBlockPool& pool);
    Cache(Cache&& other) noexcept { move_from(other); }
    Cache& operator=(Cache&& other) noexcept {
        if (this == &other) return *this;
        leave();
        move_from(other);
        return *this;
    }
    /// Returns its blocks to the pool.
    ~Cache() { leave(); }

    [[nodiscard]] void* try_acquire(Place place = Place::current()) noexcept {
        return pool_->acquire_with(cache_, place);
    }
    void release(void* block) noexcept { pool_->release_with(cache_, block); }
    [[nodiscard]] bool try_acquire_batch(std::span<void*> blocks, Place place = Place::current()) noexcept {
        return pool_->acquire_batch_with(cache_, blocks, place);
    }
    void release_batch(std::span<void* const> blocks) noexcept { pool_->release_batch_with(cache_, blocks); }

private:
    void leave() noexcept {
        if (pool_ != nullptr) std::exchange(pool_, nullptr)->detach_held(cache_);
    }
    void move_from(Cache& other) noexcept {
        pool_ = std::exchange(other.pool_, nullptr);
        if (pool_ != nullptr) pool_->move_held(other.cache_, cache_);
    }

    BlockCache cache_;
    BasicBlockPool* pool_{nullptr};
};

}  // namespace millpond::memory

#include <millpond/memory/detail/block_pool_cold.hpp>
#include <millpond/memory/detail/block_pool_hot.hpp>
#include <millpond/memory/detail/block_pool_stats.hpp>
