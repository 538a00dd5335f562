#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millpond::memory::detail {

/// How many pools may be alive at a time.
inline constexpr std::size_t kMaxPools = 1024;

using SlotTable = std::array<void*, kMaxPools>;

// One of each in the program, also where shared libraries hide the rest of their symbols.

/// What a thread reads before it has caches, and after it has given them back.
[[gnu::visibility("default")]] inline constinit const SlotTable kNoSlots{};

/// The calling thread's caches, by the numbers of their pools.
[[gnu::visibility("default")]] inline constinit thread_local const SlotTable* thread_slots = &kNoSlots;

/// A pool's small number, under which each thread finds its cache of the pool.
///
/// Threads: any. No thread may use a pool while it is made or destroyed; the pool's user ensures it.
/// Memory:  8 KiB a thread that uses pools, from the heap, when it takes its first cache.
class [[gnu::visibility("default")]] PoolSlot {
public:
    /// Called when a thread ends that has a cache of the pool.
    using GiveBack = void (*)(void* pool, void* cache) noexcept;

    /// [begin, end) are the pool's blocks. Throws std::length_error when kMaxPools are alive.
    PoolSlot(void* pool, GiveBack give_back, const void* begin, const void* end, const char* name);
    PoolSlot(const PoolSlot&) = delete;
    PoolSlot& operator=(const PoolSlot&) = delete;
    /// Forgets the pool in every thread.
    ~PoolSlot();

    /// The calling thread's cache; null when it has none.
    [[nodiscard]] void* mine() const noexcept { return (*thread_slots)[number_]; }

    /// False when the calling thread is past the point where it gives its caches back.
    [[nodiscard]] static bool thread_may_keep();

    /// Remembers `cache` for the calling thread, which may keep one.
    void remember(void* cache);

    /// The name of the pool that has a block at `pointer`; null when none has or a thread is just giving its caches
    /// back.
    [[nodiscard]] static const char* owner_of(const void* pointer) noexcept;

private:
    std::size_t number_;
};

/// Ends the program by std::terminate after writing `pool 'name': what` to the error stream.
[[noreturn]] void misuse(const char* pool, const char* what, const void* block, const char* file = "",
                         unsigned line = 0) noexcept;

}  // namespace millpond::memory::detail
