#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/exceptions.hpp>
#include <millpond/queue/detail/ring_bytes.hpp>

namespace millpond::queue {

/// Pool and queue in one, from one producer thread to one consumer thread: messages are written and read in the
/// channel's slots, and handed over in order.
///
/// All messages are constructed with the channel and destroyed with it; a claimed message has the contents that its
/// last user left. A message belongs to the producer from claim until publish, and to the consumer from front until
/// release.
///
/// The consumer publishes freed slots every few releases, and whenever `front` finds no message: until then up to
/// release_interval() - 1 released slots count as used.
///
/// Threads: claim, claim_batch and publish on one thread; front, front_batch and release on one other.
/// Memory:  capacity * sizeof(T) bytes, allocated once from `memory` in the constructor.
/// Source:  Lamport 1983; the consumer's delayed index follows Lee, Bu and Chandranmenon, "A lock-free, cache-efficient
///          shared ring buffer" (MCRingBuffer), IPDPS 2010.
template <class T>
class Channel {
public:
    /// capacity: messages, a power of two. Throws std::invalid_argument otherwise, or if the bytes cannot be addressed.
    explicit Channel(std::size_t capacity, std::pmr::memory_resource* memory = std::pmr::get_default_resource());
    ~Channel();

    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// The next message to write; null if all are in use. Returns the same message until publish.
    [[nodiscard]] T* claim() noexcept;
    /// Up to `max` contiguous messages; fewer at the end of the ring, none if all are in use.
    [[nodiscard]] std::span<T> claim_batch(std::size_t max) noexcept;
    /// Hands the first `count` claimed messages to the consumer.
    void publish(std::size_t count = 1) noexcept;

    /// The oldest message, or null. Returns the same message until release.
    [[nodiscard]] T* front() noexcept;
    /// Up to `max` of the oldest messages, contiguous, fewer at the end of the ring.
    [[nodiscard]] std::span<T> front_batch(std::size_t max) noexcept;
    /// Returns the `count` oldest messages, as seen by front or front_batch, to the producer.
    void release(std::size_t count = 1) noexcept;

    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::size_t release_interval() const noexcept { return release_interval_; }

private:
    [[nodiscard]] std::size_t free_slots(std::size_t wanted) noexcept;
    [[nodiscard]] std::size_t filled(std::size_t wanted) noexcept;
    [[nodiscard]] std::span<T> side_by_side(std::size_t from, std::size_t count) noexcept {
        const auto index = from & (capacity_ - 1);
        return {slots_ + index, std::min(count, capacity_ - index)};
    }

    static constexpr std::size_t kReleaseInterval = 16;
    static constexpr std::size_t kSlotAlignment = std::max(alignof(T), core::kFalseSharingRange);

    T* slots_;
    std::size_t capacity_;
    std::size_t release_interval_;
    std::pmr::memory_resource* memory_;
    // Separate cache lines for each writing thread: first the producer's, then the consumer's.
    alignas(core::kFalseSharingRange) std::atomic<std::size_t> tail_{0};
    std::size_t head_seen_{0};
    alignas(core::kFalseSharingRange) std::atomic<std::size_t> head_{0};
    std::size_t released_{0};  // the consumer's true head; head_ follows it
    std::size_t tail_seen_{0};
};

template <class T>
Channel<T>::Channel(std::size_t capacity, std::pmr::memory_resource* memory)
    : slots_(static_cast<T*>(memory->allocate(detail::ring_bytes("Channel", capacity, sizeof(T)), kSlotAlignment))),
      capacity_(capacity),
      release_interval_(std::clamp<std::size_t>(capacity / 4, 1, kReleaseInterval)),
      memory_(memory) {
    MILLPOND_TRY { std::uninitialized_value_construct_n(slots_, capacity_); }
    MILLPOND_CATCH(...) {
        memory_->deallocate(slots_, capacity_ * sizeof(T), kSlotAlignment);
        MILLPOND_RETHROW;
    }
}

template <class T>
Channel<T>::~Channel() {
    std::destroy_n(slots_, capacity_);
    memory_->deallocate(slots_, capacity_ * sizeof(T), kSlotAlignment);
}

template <class T>
T* Channel<T>::claim() noexcept {
    return free_slots(1) == 0 ? nullptr : &slots_[tail_.load(std::memory_order_relaxed) & (capacity_ - 1)];
}

template <class T>
std::span<T> Channel<T>::claim_batch(std::size_t max) noexcept {
    return side_by_side(tail_.load(std::memory_order_relaxed), free_slots(max));
}

template <class T>
void Channel<T>::publish(std::size_t count) noexcept {
    const auto tail = tail_.load(std::memory_order_relaxed);
    assert(tail + count - head_seen_ <= capacity_ && "published more than was claimed");
    tail_.store(tail + count, std::memory_order_release);  // sync "slot filled": the load in filled
}

template <class T>
T* Channel<T>::front() noexcept {
    return filled(1) == 0 ? nullptr : &slots_[released_ & (capacity_ - 1)];
}

template <class T>
std::span<T> Channel<T>::front_batch(std::size_t max) noexcept {
    return side_by_side(released_, filled(max));
}

template <class T>
void Channel<T>::release(std::size_t count) noexcept {
    assert(tail_seen_ - released_ >= count && "released more than front showed");
    released_ += count;
    if (released_ - head_.load(std::memory_order_relaxed) >= release_interval_) {
        head_.store(released_, std::memory_order_release);  // sync "slot freed": the load in free_slots
    }
}

/// Number of slots, up to `wanted`, that the producer may fill. Reads the consumer's cache line only if the last known
/// number is too low.
template <class T>
std::size_t Channel<T>::free_slots(std::size_t wanted) noexcept {
    const auto tail = tail_.load(std::memory_order_relaxed);
    if (capacity_ - (tail - head_seen_) < wanted) {
        head_seen_ = head_.load(std::memory_order_acquire);  // sync "slot freed": the stores in release and filled
    }
    return std::min(wanted, capacity_ - (tail - head_seen_));
}

/// Number of slots, up to `wanted`, that the consumer may read.
template <class T>
std::size_t Channel<T>::filled(std::size_t wanted) noexcept {
    if (tail_seen_ - released_ < wanted) {
        tail_seen_ = tail_.load(std::memory_order_acquire);  // sync "slot filled": the store in publish
        if (tail_seen_ == released_ && head_.load(std::memory_order_relaxed) != released_) {
            head_.store(released_, std::memory_order_release);  // sync "slot freed": the load in free_slots
        }
    }
    return std::min(wanted, tail_seen_ - released_);
}

}  // namespace millpond::queue
