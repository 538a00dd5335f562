#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <millpond/core/cache_line.hpp>

namespace millpond::queue {

/// First-in first-out ring from one producer thread to one consumer thread.
///
/// Threads: the push functions on one thread, the pop functions on one other; size on any.
/// Memory:  capacity * sizeof(T) bytes, taken once from `memory` in the constructor.
/// Source:  Lamport 1983; the cached opposite index follows rigtorp/SPSCQueue.
template <class T>
class SpscRing {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

public:
    /// capacity: messages, a power of two. Throws std::invalid_argument otherwise.
    explicit SpscRing(std::size_t capacity, std::pmr::memory_resource* memory = std::pmr::get_default_resource());
    /// Destroys what was not popped.
    ~SpscRing();

    SpscRing(const SpscRing&) = delete;
    SpscRing& operator=(const SpscRing&) = delete;

    /// False when full; `message` is then left as it was.
    [[nodiscard]] bool try_push(T&& message) noexcept;
    [[nodiscard]] bool try_push(const T& message) noexcept
        requires std::is_nothrow_copy_constructible_v<T>;

    /// Moves as many of `messages` as there is room for, in order, and makes them visible at once. Returns how many;
    /// the rest are left as they were.
    [[nodiscard]] std::size_t try_push_batch(std::span<T> messages) noexcept;

    /// False when empty; `into` is then left as it was.
    [[nodiscard]] bool try_pop(T& into) noexcept;

    /// Moves up to into.size() messages, oldest first, and frees their slots at once. Returns how many.
    [[nodiscard]] std::size_t try_pop_batch(std::span<T> into) noexcept;

    /// Messages inside at some moment during the call.
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

private:
    template <class Message>
    bool push(Message&& message) noexcept;
    std::size_t room(std::size_t tail, std::size_t wanted) noexcept;
    std::size_t filled(std::size_t head, std::size_t wanted) noexcept;
    T& slot(std::size_t index) noexcept { return slots_[index & (capacity_ - 1)]; }

    static constexpr std::size_t kSlotAlignment = std::max(alignof(T), core::kFalseSharingRange);

    T* slots_;
    std::size_t capacity_;
    std::pmr::memory_resource* memory_;
    // Lines of their own for each writing thread: the producer's two fields, then the consumer's two.
    alignas(core::kFalseSharingRange) std::atomic<std::size_t> tail_{0};
    std::size_t head_seen_{0};
    alignas(core::kFalseSharingRange) std::atomic<std::size_t> head_{0};
    std::size_t tail_seen_{0};
};

template <class T>
SpscRing<T>::SpscRing(std::size_t capacity, std::pmr::memory_resource* memory) : capacity_(capacity), memory_(memory) {
    if (!std::has_single_bit(capacity)) {
        throw std::invalid_argument("SpscRing: capacity " + std::to_string(capacity) + " is no power of two");
    }
    slots_ = static_cast<T*>(memory_->allocate(capacity_ * sizeof(T), kSlotAlignment));
}

template <class T>
SpscRing<T>::~SpscRing() {
    const auto tail = tail_.load(std::memory_order_relaxed);
    for (auto head = head_.load(std::memory_order_relaxed); head != tail; ++head) std::destroy_at(&slot(head));
    memory_->deallocate(slots_, capacity_ * sizeof(T), kSlotAlignment);
}

template <class T>
bool SpscRing<T>::try_push(T&& message) noexcept {
    return push(std::move(message));
}

template <class T>
bool SpscRing<T>::try_push(const T& message) noexcept
    requires std::is_nothrow_copy_constructible_v<T>
{
    return push(message);
}

template <class T>
template <class Message>
bool SpscRing<T>::push(Message&& message) noexcept {
    const auto tail = tail_.load(std::memory_order_relaxed);
    if (room(tail, 1) == 0) return false;
    std::construct_at(&slot(tail), std::forward<Message>(message));
    tail_.store(tail + 1, std::memory_order_release);  // sync "slot filled": the load in filled
    return true;
}

template <class T>
std::size_t SpscRing<T>::try_push_batch(std::span<T> messages) noexcept {
    const auto tail = tail_.load(std::memory_order_relaxed);
    const auto count = room(tail, messages.size());
    for (std::size_t i = 0; i < count; ++i) std::construct_at(&slot(tail + i), std::move(messages[i]));
    tail_.store(tail + count, std::memory_order_release);  // sync "slot filled": the load in filled
    return count;
}

template <class T>
bool SpscRing<T>::try_pop(T& into) noexcept {
    return try_pop_batch({&into, 1}) == 1;
}

template <class T>
std::size_t SpscRing<T>::try_pop_batch(std::span<T> into) noexcept {
    const auto head = head_.load(std::memory_order_relaxed);
    const auto count = filled(head, into.size());
    if (count == 0) return 0;
    for (std::size_t i = 0; i < count; ++i) {
        into[i] = std::move(slot(head + i));
        std::destroy_at(&slot(head + i));
    }
    head_.store(head + count, std::memory_order_release);  // sync "slot freed": the load in room
    return count;
}

template <class T>
std::size_t SpscRing<T>::size() const noexcept {
    // The head first: a tail read later is never behind it.
    const auto head = head_.load(std::memory_order_acquire);  // sync "slot freed": orders the load of the tail after it
    return std::min(tail_.load(std::memory_order_relaxed) - head, capacity_);
}

/// How many of `wanted` slots the producer may fill. Looks at the consumer's line only when what it knew is too little.
template <class T>
std::size_t SpscRing<T>::room(std::size_t tail, std::size_t wanted) noexcept {
    if (capacity_ - (tail - head_seen_) < wanted) {
        head_seen_ = head_.load(std::memory_order_acquire);  // sync "slot freed": the store in try_pop_batch
    }
    return std::min(wanted, capacity_ - (tail - head_seen_));
}

/// How many of `wanted` slots the consumer may empty. Looks at the producer's line only when what it knew is too
/// little.
template <class T>
std::size_t SpscRing<T>::filled(std::size_t head, std::size_t wanted) noexcept {
    if (tail_seen_ - head < wanted) {
        tail_seen_ = tail_.load(std::memory_order_acquire);  // sync "slot filled": the stores in push, try_push_batch
    }
    return std::min(wanted, tail_seen_ - head);
}

}  // namespace millpond::queue
