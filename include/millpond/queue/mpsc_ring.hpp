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
#include <millpond/queue/sequenced_words.hpp>

namespace millpond::queue {

/// First-in first-out ring from any number of producer threads to one consumer thread.
///
/// A push reserves its slots with one compare-and-swap, fills them and marks each; messages are popped in
/// the order in which their slots were reserved, those of one producer in the order of its pushes. A producer that is
/// preempted between the two delays messages reserved after it: try_pop returns false until it continues. It does not
/// delay the pushes of others.
///
/// Threads: the push functions on any; the pop functions on one; size on any.
/// Memory:  capacity * slot_bytes() bytes, allocated once from `memory` and written in the constructor.
/// Source:  the slots, and the consumer's index that shows producers which slots are free, are those of SpscRing.
template <class T, class Step = NoStep>
class MpscRing {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

public:
    /// capacity: messages, a power of two. Throws std::invalid_argument otherwise, or if the bytes cannot be addressed.
    explicit MpscRing(std::size_t capacity, std::pmr::memory_resource* memory = std::pmr::get_default_resource(),
                      Step step = {})
        : slots_("MpscRing", capacity, memory), step_(std::move(step)) {}
    /// Destroys messages that were not popped.
    ~MpscRing() { slots_.destroy_from(head_.load(std::memory_order_relaxed)); }

    MpscRing(const MpscRing&) = delete;
    MpscRing& operator=(const MpscRing&) = delete;

    /// False when full; `message` is then unchanged.
    [[nodiscard]] bool try_push(T&& message) noexcept;
    [[nodiscard]] bool try_push(const T& message) noexcept
        requires std::is_nothrow_copy_constructible_v<T>;

    /// Moves as many of `messages` as fit; they are popped next to each other. Returns their number; the others are
    /// unchanged.
    [[nodiscard]] std::size_t try_push_batch(std::span<T> messages) noexcept;

    /// False when empty, or when the oldest message is not filled yet; `into` is then unchanged.
    [[nodiscard]] bool try_pop(T& into) noexcept;

    /// Moves up to into.size() messages, oldest first, and frees their slots at once. Returns their number.
    [[nodiscard]] std::size_t try_pop_batch(std::span<T> into) noexcept;

    /// Whether try_pop would return a message. Consumer's thread only.
    [[nodiscard]] bool ready() const noexcept { return slots_.is_filled(head_.load(std::memory_order_relaxed)); }

    /// Number of slots that are reserved or filled at some moment during the call.
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] std::size_t capacity() const noexcept { return slots_.capacity(); }
    /// Like SpscRing::slot_bytes.
    [[nodiscard]] static constexpr std::size_t slot_bytes() noexcept { return detail::RingSlots<T>::slot_bytes(); }

private:
    struct Reserved {
        std::uint64_t first;
        std::size_t count;
    };
    /// Reserves free slots, up to `wanted`.
    [[nodiscard]] Reserved reserve(std::size_t wanted) noexcept;
    template <class Message>
    void fill(std::uint64_t position, Message&& message) noexcept;

    detail::RingSlots<T> slots_;
    [[no_unique_address]] Step step_;
    // The producers' lines, then the consumer's.
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> tail_{0};
    std::atomic<std::uint64_t> head_seen_{0};
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> head_{0};
};

template <class T, class Step>
typename MpscRing<T, Step>::Reserved MpscRing<T, Step>::reserve(std::size_t wanted) noexcept {
    auto tail = tail_.load(std::memory_order_relaxed);
    for (;;) {
        // sync "slot freed": the store below, with which another producer passes on what it acquired from the consumer
        auto head = head_seen_.load(std::memory_order_acquire);
        // If the head is newer than the tail, all slots count as free; the exchange then fails and the tail is read
        // again.
        if (static_cast<std::int64_t>(tail - head) + static_cast<std::int64_t>(wanted) >
            static_cast<std::int64_t>(capacity())) {
            head = head_.load(std::memory_order_acquire);  // sync "slot freed": the store in try_pop_batch
            head_seen_.store(head, std::memory_order_release);
        }
        const auto used = static_cast<std::int64_t>(tail - head);
        const auto free = used < 0 ? capacity() : capacity() - static_cast<std::size_t>(used);
        const auto count = std::min(wanted, free);
        if (count == 0) return {tail, 0};  // full when the head was read: the tail can only have grown since it was
        step_();
        if (tail_.compare_exchange_weak(tail, tail + count, std::memory_order_relaxed)) return {tail, count};
    }
}

template <class T, class Step>
template <class Message>
void MpscRing<T, Step>::fill(std::uint64_t position, Message&& message) noexcept {
    step_();
    slots_.put(position, std::forward<Message>(message));
    step_();
    slots_.mark(position);
}

template <class T, class Step>
bool MpscRing<T, Step>::try_push(T&& message) noexcept {
    return try_push_batch({&message, 1}) == 1;
}

template <class T, class Step>
bool MpscRing<T, Step>::try_push(const T& message) noexcept
    requires std::is_nothrow_copy_constructible_v<T>
{
    const auto reserved = reserve(1);
    if (reserved.count == 0) return false;
    fill(reserved.first, message);
    return true;
}

template <class T, class Step>
std::size_t MpscRing<T, Step>::try_push_batch(std::span<T> messages) noexcept {
    if (messages.empty()) return 0;
    const auto reserved = reserve(messages.size());
    for (std::size_t i = 0; i < reserved.count; ++i) fill(reserved.first + i, std::move(messages[i]));
    return reserved.count;
}

template <class T, class Step>
bool MpscRing<T, Step>::try_pop(T& into) noexcept {
    const auto head = head_.load(std::memory_order_relaxed);
    if (!slots_.try_pop(head, into)) return false;
    head_.store(head + 1, std::memory_order_release);  // sync "slot freed": the load in reserve
    return true;
}

template <class T, class Step>
std::size_t MpscRing<T, Step>::try_pop_batch(std::span<T> into) noexcept {
    const auto head = head_.load(std::memory_order_relaxed);
    std::size_t count = 0;
    while (count < into.size() && slots_.try_pop(head + count, into[count])) ++count;
    if (count != 0) head_.store(head + count, std::memory_order_release);  // sync "slot freed": the load in reserve
    return count;
}

template <class T, class Step>
std::size_t MpscRing<T, Step>::size() const noexcept {
    // The head first: a tail read later is never behind it.
    const auto head = head_.load(std::memory_order_acquire);  // sync "slot freed": orders the load of the tail after it
    return std::min<std::size_t>(tail_.load(std::memory_order_relaxed) - head, capacity());
}

}  // namespace millpond::queue
