#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <mutex>
#include <new>
#include <unordered_set>

#include <millpond/core/exceptions.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/memory/detail/thread_slots.hpp>

namespace millpond::memory {

/// Behaviour of an exhausted pool.
enum class WhenExhausted : std::uint8_t {
    give_null,        ///< Return null; the caller handles it.
    throw_bad_alloc,  ///< Throw std::bad_alloc.
    terminate,        ///< Terminate the program with a message: exhaustion is a sizing error.
    call_handler,     ///< Call the handler, which may release something, try once more, then return null.
    use_resource,     ///< Allocate a block from the given memory resource; `release` returns it there.
};

struct Exhaustion {
    WhenExhausted policy{WhenExhausted::give_null};
    std::function<void()> handler{};               ///< For call_handler. Runs on the thread that acquires.
    std::pmr::memory_resource* resource{nullptr};  ///< For use_resource; outlives the pool.
};

/// How often a pool was exhausted, and the blocks from its resource.
struct ExhaustionStats {
    std::uint64_t times{0};
    std::uint64_t from_resource{0};  ///< Blocks allocated from the resource since the start.
    std::size_t in_use{0};           ///< Blocks of the resource that are in use.
    std::uint64_t high_water{0};     ///< Maximum of in_use.
};

namespace detail {

/// Applies a pool's exhaustion policy.
///
/// Threads: any; behind a lock, which is used only while the pool is exhausted.
/// Memory:  a set of the resource's blocks in use, on the heap, so that a foreign pointer is still detected.
class ExhaustionPath {
public:
    /// Throws std::invalid_argument if the policy lacks its handler or resource.
    ExhaustionPath(Exhaustion exhaustion, const char* pool, std::size_t block_bytes, std::size_t alignment);

    /// try_again() returns a block of the pool or null.
    template <class TryAgain>
    [[nodiscard]] void* acquire(TryAgain&& try_again) {
        count();
        switch (exhaustion_.policy) {
            case WhenExhausted::give_null: return nullptr;
            case WhenExhausted::throw_bad_alloc: MILLPOND_THROW(std::bad_alloc());
            case WhenExhausted::terminate: misuse(pool_, "is exhausted", nullptr);
            case WhenExhausted::call_handler: exhaustion_.handler(); return try_again();
            case WhenExhausted::use_resource: return allocate();
        }
        return nullptr;
    }

    /// Returns a block to the resource. False for any other block.
    [[nodiscard]] bool release(void* block) noexcept;
    /// Whether this block is from the resource.
    [[nodiscard]] bool holds(void* block) const noexcept;
    [[nodiscard]] bool is_idle() const noexcept;
    /// Resets the statistics. Returns false and does nothing if a block of the resource is in use.
    bool reset() noexcept;

    [[nodiscard]] bool uses_resource() const noexcept { return exhaustion_.policy == WhenExhausted::use_resource; }
    [[nodiscard]] ExhaustionStats stats() const;

    /// Calls visit(void*) for each block of the resource in use. The pool must be idle.
    template <class Visit>
    void for_each_lent(Visit&& visit) const {
        for (void* const block : from_resource_) visit(block);
    }

private:
    void count();
    [[nodiscard]] void* allocate();

    Exhaustion exhaustion_;
    const char* pool_;
    std::size_t block_bytes_;
    std::size_t alignment_;
    mutable std::mutex mutex_;
    ExhaustionStats stats_;
    std::unordered_set<void*> from_resource_;
};

}  // namespace detail
}  // namespace millpond::memory
