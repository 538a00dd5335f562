#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace millpond::memory::detail {

/// Maximum number of pools alive at the same time.
inline constexpr std::size_t kMaxPools = 1024;

using SlotTable = std::array<void*, kMaxPools>;

// One instance in the program, even if shared libraries hide their other symbols.

/// Table of a thread that has no caches yet, or has returned them.
[[gnu::visibility("default")]] inline constinit const SlotTable kNoSlots{};

/// The calling thread's caches, by pool number.
[[gnu::visibility("default")]] inline constinit thread_local const SlotTable* thread_slots = &kNoSlots;

/// A pool's number, with which each thread finds its cache of the pool.
///
/// Threads: any. No thread may use a pool while it is constructed or destroyed; the pool's user ensures it.
/// Memory:  8 KiB of heap for each thread that uses pools, allocated with its first cache.
class [[gnu::visibility("default")]] PoolSlot {
public:
    /// Called at the end of a thread that has a cache of the pool.
    using GiveBack = void (*)(void* pool, void* cache) noexcept;

    /// [begin, end): the pool's blocks. Throws std::length_error if kMaxPools are alive.
    PoolSlot(void* pool, GiveBack give_back, const void* begin, const void* end, const char* name);
    PoolSlot(const PoolSlot&) = delete;
    PoolSlot& operator=(const PoolSlot&) = delete;
    /// Removes the pool from every thread.
    ~PoolSlot();

    /// The calling thread's cache; null if it has none.
    [[nodiscard]] void* mine() const noexcept { return (*thread_slots)[number_]; }

    /// False if the calling thread is ending and has returned its caches.
    [[nodiscard]] static bool thread_may_keep();

    /// Sets the calling thread's cache. Requires thread_may_keep().
    void remember(void* cache);

    /// Name of the pool that owns the memory at `pointer`; null if none does, or if a thread is just returning its
    /// caches.
    [[nodiscard]] static const char* owner_of(const void* pointer) noexcept;

private:
    std::size_t number_;
};

/// Returns "pool-1", "pool-2", ...: unique names in the program.
[[nodiscard]] std::string next_pool_name();

/// Writes `pool 'name': what` to standard error and calls std::terminate.
[[noreturn]] void misuse(const char* pool, const char* what, const void* block, const char* file = "",
                         unsigned line = 0) noexcept;

}  // namespace millpond::memory::detail
