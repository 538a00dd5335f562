#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include <millpond/core/cache_line.hpp>

namespace millpond::memory::detail {

/// Lock-free stack of the numbers 0..n-1, each of which is on it at most once.
///
/// The head is one word, {index, tag}: every change adds one to the tag, so that a pop which was interrupted between
/// reading the head and replacing it fails, although the same index may be on top again (ABA). It would have to miss
/// exactly a multiple of 2^32 changes to succeed wrongly.
///
/// Threads: any.
/// Memory:  one word; the links are in an array of the caller, shared by stacks that never hold the same index.
/// Source:  Treiber 1986; IBM System/370 Principles of Operation, "compare double and swap", for the tag.
template <class Policy>
class IndexStack {
public:
    using Links = std::atomic<std::uint32_t>*;
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    /// The top of the stack as a pop has read it.
    struct Top {
        std::uint64_t head;
        std::uint32_t next;
        [[nodiscard]] std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(head >> 32); }
    };

    void push(Links links, std::uint32_t index) noexcept {
        auto head = head_.load(std::memory_order_relaxed);
        do {
            links[index].store(static_cast<std::uint32_t>(head >> 32), std::memory_order_relaxed);
            Policy::racy_point();
        } while (
            !head_.compare_exchange_weak(head, with_next_tag(index, head),
                                         std::memory_order_release,  // sync "pushed": the acquires in peek and try_pop
                                         std::memory_order_relaxed));
    }

    /// kNone if it is empty.
    [[nodiscard]] std::uint32_t pop(Links links) noexcept {
        for (auto seen = peek(links);;) {
            if (seen.index() == kNone) return kNone;
            Policy::racy_point();
            if (try_pop(links, seen)) return seen.index();
        }
    }

    /// First half of a pop.
    [[nodiscard]] Top peek(Links links) const noexcept {
        return with_link(links, head_.load(std::memory_order_acquire));  // sync "pushed": the release in push
    }

    /// Second half of a pop: false if the stack has changed since `seen`, which then has the new state.
    [[nodiscard]] bool try_pop(Links links, Top& seen) noexcept {
        if (head_.compare_exchange_weak(seen.head, with_next_tag(seen.next, seen.head),
                                        std::memory_order_acquire,  // sync "pushed": the release in push
                                        std::memory_order_acquire)) {
            return true;
        }
        seen = with_link(links, seen.head);
        return false;
    }

private:
    static std::uint64_t with_next_tag(std::uint32_t index, std::uint64_t head) noexcept {
        return (std::uint64_t{index} << 32) | static_cast<std::uint32_t>(head + 1);
    }
    /// The link may be stale if another thread pops the index meanwhile; then the tag has changed and try_pop fails.
    static Top with_link(Links links, std::uint64_t head) noexcept {
        const auto index = static_cast<std::uint32_t>(head >> 32);
        return {head, index == kNone ? kNone : links[index].load(std::memory_order_relaxed)};
    }

    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> head_{std::uint64_t{kNone} << 32};
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
};

}  // namespace millpond::memory::detail
