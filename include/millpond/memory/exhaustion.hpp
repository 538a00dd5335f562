#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <mutex>
#include <new>
#include <unordered_set>

#include <millpond/core/tally.hpp>
#include <millpond/memory/detail/thread_slots.hpp>

namespace millpond::memory {

/// What a pool does when it has no block left.
enum class WhenExhausted : std::uint8_t {
    give_null,        ///< The caller handles it.
    throw_bad_alloc,  ///< std::bad_alloc.
    terminate,        ///< The program terminates with a message: exhaustion is a sizing error.
    call_handler,     ///< The handler may release something; the pool tries once more, then returns null.
    use_resource,     ///< A block of the given memory resource; it is released by the same call.
};

struct Exhaustion {
    WhenExhausted policy{WhenExhausted::give_null};
    std::function<void()> handler;                 ///< For call_handler. Runs on the thread that wants a block.
    std::pmr::memory_resource* resource{nullptr};  ///< For use_resource; outlives the pool.
};

/// How often a pool was exhausted, and what its resource has lent.
struct ExhaustionStats {
    std::uint64_t times{0};
    std::uint64_t from_resource{0};  ///< Blocks that the resource gave, ever.
    std::size_t in_use{0};           ///< Of those, not released yet.
};

namespace detail {

/// The slow way out when a pool has no block left.
///
/// Threads: any; behind a lock, which no operation of a pool that is not exhausted takes.
/// Memory:  a set of the blocks that the resource has lent, on the heap, so that a foreign pointer is still caught.
class ExhaustionPath {
public:
    /// Throws std::invalid_argument when the policy lacks its handler or resource.
    ExhaustionPath(Exhaustion exhaustion, const char* pool, std::size_t block_bytes, std::size_t alignment);

    /// try_again() returns a block of the pool or null.
    template <class TryAgain>
    [[nodiscard]] void* acquire(TryAgain&& try_again) {
        count();
        switch (exhaustion_.policy) {
            case WhenExhausted::give_null: return nullptr;
            case WhenExhausted::throw_bad_alloc: throw std::bad_alloc();
            case WhenExhausted::terminate: misuse(pool_, "is exhausted", nullptr);
            case WhenExhausted::call_handler: exhaustion_.handler(); return try_again();
            case WhenExhausted::use_resource: return lend();
        }
        return nullptr;
    }

    /// Releases a block that the resource lent. False for any other block.
    [[nodiscard]] bool release(void* block) noexcept;

    [[nodiscard]] bool lends() const noexcept { return exhaustion_.policy == WhenExhausted::use_resource; }
    [[nodiscard]] ExhaustionStats stats() const;

    /// Calls visit(void*) for each block that is lent. The pool must be idle.
    template <class Visit>
    void for_each_lent(Visit&& visit) const {
        for (void* const block : lent_) visit(block);
    }

private:
    void count();
    [[nodiscard]] void* lend();

    Exhaustion exhaustion_;
    const char* pool_;
    std::size_t block_bytes_;
    std::size_t alignment_;
    mutable std::mutex mutex_;
    ExhaustionStats stats_;
    std::unordered_set<void*> lent_;
};

}  // namespace detail
}  // namespace millpond::memory
