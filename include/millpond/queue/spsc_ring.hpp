#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>

#include <millpond/core/cache_line.hpp>
#include <millpond/queue/detail/ring_slots.hpp>

namespace millpond::queue {

/// First-in first-out ring from one producer thread to one consumer thread.
///
/// Threads: the push functions on one thread, the pop functions on one other; size on any.
/// Memory:  capacity * slot_bytes() bytes, allocated once from `memory` and written in the constructor.
/// Source:  Lamport 1983; the mark in each slot follows D. Vyukov, "Bounded MPMC queue" (1024cores.net), the producer's
///          cached copy of the consumer's index rigtorp/SPSCQueue.
template <class T>
class SpscRing {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

public:
    /// capacity: messages, a power of two. Throws std::invalid_argument otherwise, or if the bytes cannot be addressed.
    explicit SpscRing(std::size_t capacity, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : slots_("SpscRing", capacity, memory) {}
    /// Destroys messages that were not popped.
    ~SpscRing() { slots_.destroy_from(head_.load(std::memory_order_relaxed)); }

    SpscRing(const SpscRing&) = delete;
    SpscRing& operator=(const SpscRing&) = delete;

    /// False when full; `message` is then unchanged.
    [[nodiscard]] bool try_push(T&& message) noexcept { return push(std::move(message)); }
    [[nodiscard]] bool try_push(const T& message) noexcept
        requires std::is_nothrow_copy_constructible_v<T>
    {
        return push(message);
    }

    /// Moves as many of `messages` as fit, in order, and publishes them at once. Returns their number; the others are
    /// unchanged.
    [[nodiscard]] std::size_t try_push_batch(std::span<T> messages) noexcept;

    /// False when empty; `into` is then unchanged.
    [[nodiscard]] bool try_pop(T& into) noexcept {
        const auto head = head_.load(std::memory_order_relaxed);
        if (!slots_.try_pop(head, into)) return false;
        head_.store(head + 1, std::memory_order_release);  // sync "slot freed": the load in free_slots
        return true;
    }

    /// Moves up to into.size() messages, oldest first, and frees their slots at once. Returns their number.
    [[nodiscard]] std::size_t try_pop_batch(std::span<T> into) noexcept;

    /// Number of messages at some moment during the call; those of a push that has not returned may be missing.
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] std::size_t capacity() const noexcept { return slots_.capacity(); }
    /// Bytes of a message and its 64-bit mark; rounded up to cache lines from half a line on.
    [[nodiscard]] static constexpr std::size_t slot_bytes() noexcept { return detail::RingSlots<T>::slot_bytes(); }

private:
    // Inlined: a call costs a fifth of a hop between processors.
    template <class Message>
    [[gnu::always_inline]] bool push(Message&& message) noexcept {
        const auto tail = tail_.load(std::memory_order_relaxed);
        if (free_slots(tail, 1) == 0) return false;
        slots_.put(tail, std::forward<Message>(message));
        slots_.mark(tail);
        tail_.store(tail + 1, std::memory_order_relaxed);  // last: between the two above it delays their common line
        return true;
    }
    std::size_t free_slots(std::uint64_t tail, std::size_t wanted) noexcept;

    detail::RingSlots<T> slots_;
    // Separate cache lines for each writing thread: the producer's two fields, then the consumer's.
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> tail_{0};
    std::uint64_t head_seen_{0};
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> head_{0};
};

template <class T>
std::size_t SpscRing<T>::try_push_batch(std::span<T> messages) noexcept {
    const auto tail = tail_.load(std::memory_order_relaxed);
    const auto count = free_slots(tail, messages.size());
    for (std::size_t i = 0; i < count; ++i) slots_.put(tail + i, std::move(messages[i]));
    // The oldest last: the consumer reads it first, and then finds all others.
    for (auto i = count; i-- > 0;) slots_.mark(tail + i);
    tail_.store(tail + count, std::memory_order_relaxed);
    return count;
}

template <class T>
std::size_t SpscRing<T>::try_pop_batch(std::span<T> into) noexcept {
    const auto head = head_.load(std::memory_order_relaxed);
    std::size_t count = 0;
    while (count < into.size() && slots_.try_pop(head + count, into[count])) ++count;
    if (count != 0) head_.store(head + count, std::memory_order_release);  // sync "slot freed": the load in free_slots
    return count;
}

template <class T>
std::size_t SpscRing<T>::size() const noexcept {
    // The head first: a tail read later is behind it only while the consumer has popped messages of a push that has not
    // yet counted them.
    const auto head = head_.load(std::memory_order_acquire);  // sync "slot freed": orders the load of the tail after it
    const auto tail = tail_.load(std::memory_order_relaxed);
    return tail < head ? 0 : std::min<std::size_t>(tail - head, capacity());
}

/// Number of slots, up to `wanted`, that the producer may fill. Reads the consumer's cache line only if the last known
/// number is too low.
template <class T>
std::size_t SpscRing<T>::free_slots(std::uint64_t tail, std::size_t wanted) noexcept {
    if (capacity() - (tail - head_seen_) < wanted) {
        head_seen_ = head_.load(std::memory_order_acquire);  // sync "slot freed": the store in try_pop_batch
    }
    return std::min(wanted, capacity() - (tail - head_seen_));
}

}  // namespace millpond::queue
