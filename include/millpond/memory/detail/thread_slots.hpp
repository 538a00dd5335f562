#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millpond::memory::detail {

/// Maximum number of pools alive at the same time.
inline constexpr std::size_t kMaxPools = 1024;

using SlotTable = std::array<void*, kMaxPools>;

// One of each in the program, even if shared libraries hide the rest of their symbols.

/// Read by a thread before it has caches, and after it has returned them.
[[gnu::visibility("default")]] inline constinit const SlotTable kNoSlots{};

/// The calling thread's caches, by the numbers of their pools.
[[gnu::visibility("default")]] inline constinit thread_local const SlotTable* thread_slots = &kNoSlots;

/// A pool's small number, by which each thread finds its cache of the pool.
///
/// Threads: any. No thread may use a pool while it is constructed or destroyed; the pool's user ensures it.
/// Memory:  8 KiB for each thread that uses pools, from the heap, when it takes its first cache.
class [[gnu::visibility("default")]] PoolSlot {
public:
    /// Called when a thread ends that has a cache of the pool.
    using GiveBack = void (*)(void* pool, void* cache) noexcept;

    /// [begin, end) are the pool's blocks. Throws std::length_error if kMaxPools are alive.
    PoolSlot(void* pool, GiveBack give_back, const void* begin, const void* end, const char* name);
    PoolSlot(const PoolSlot&) = delete;
    PoolSlot& operator=(const PoolSlot&) = delete;
    /// Removes the pool from every thread.
    ~PoolSlot();

    /// The calling thread's cache; null if it has none.
    [[nodiscard]] void* mine() const noexcept { return (*thread_slots)[number_]; }

    /// False if the calling thread has already returned its caches at its end.
    [[nodiscard]] static bool thread_may_keep();

    /// Sets the cache of the calling thread, which may have one.
    void remember(void* cache);

    /// The name of the pool that has a block at `pointer`; null if none has, or if a thread is just returning its
    /// caches.
    [[nodiscard]] static const char* owner_of(const void* pointer) noexcept;

private:
    std::size_t number_;
};

/// Calls std::terminate after writing `pool 'name': what` to the error stream.
[[noreturn]] void misuse(const char* pool, const char* what, const void* block, const char* file = "",
                         unsigned line = 0) noexcept;

}  // namespace millpond::memory::detail
