#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

#include <millpond/core/cache_line.hpp>
#include <millpond/queue/detail/ring_bytes.hpp>

namespace millpond::queue::detail {

/// The slots of a ring with one consumer. A slot itself shows whether its message is there, so a message and its
/// announcement move to the consumer's processor in one cache line. Positions count up from 0; a position's slot is its
/// remainder by the capacity.
///
/// Threads: put and mark on the thread that owns the position, is_filled and try_pop on the consumer's. The ring waits
///          until a slot is free before it puts there.
/// Memory:  capacity * slot_bytes(), allocated once from `memory` and written in the constructor.
/// Source:  D. Vyukov, "Bounded MPMC queue" (1024cores.net).
template <class T>
class RingSlots {
public:
    /// ring, capacity: see ring_bytes, whose exceptions it throws.
    RingSlots(const char* ring, std::size_t capacity, std::pmr::memory_resource* memory)
        : slots_(static_cast<Slot*>(memory->allocate(ring_bytes(ring, capacity, sizeof(Slot)), kAlignment))),
          capacity_(capacity),
          memory_(memory) {
        for (std::size_t i = 0; i < capacity_; ++i) std::construct_at(&slots_[i].filled, 0U);
    }
    /// Does not destroy messages: call destroy_from first.
    ~RingSlots() { memory_->deallocate(slots_, capacity_ * sizeof(Slot), kAlignment); }
    RingSlots(const RingSlots&) = delete;
    RingSlots& operator=(const RingSlots&) = delete;

    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] static constexpr std::size_t slot_bytes() noexcept { return sizeof(Slot); }

    template <class Message>
    void put(std::uint64_t position, Message&& message) noexcept {
        fetch_ahead(position);
        auto* const bytes = slot(position).bytes;
        if constexpr (kByWords) {
            copy_words(bytes, reinterpret_cast<const std::byte*>(std::addressof(message)));
        } else {
            std::construct_at(reinterpret_cast<T*>(bytes), std::forward<Message>(message));
        }
    }
    /// Marks the message at `position` as filled.
    void mark(std::uint64_t position) noexcept {
        slot(position).filled.store(position + 1, std::memory_order_release);  // sync "slot filled": is_filled
    }
    [[nodiscard]] bool is_filled(std::uint64_t position) const noexcept {
        // sync "slot filled": the store in mark
        return slots_[position & (capacity_ - 1)].filled.load(std::memory_order_acquire) == position + 1;
    }
    /// Moves the message at `position` to `into`, if it is filled; the caller then frees the slot. No loop over
    /// several: a processor that speculates one more iteration reads the next slot, whose line the producer is about to
    /// write.
    [[nodiscard]] bool try_pop(std::uint64_t position, T& into) noexcept {
        if (!is_filled(position)) return false;
        auto* const message = slot(position).message();
        into = std::move(*message);
        std::destroy_at(message);
        return true;
    }
    void destroy_from(std::uint64_t position) noexcept {
        for (; is_filled(position); ++position) std::destroy_at(slot(position).message());
    }

private:
    struct Plain {  // NOLINT(cppcoreguidelines-pro-type-member-init): the bytes become a message when one is put
        std::atomic<std::uint64_t> filled;  // position + 1 of the message inside, once it is there; older before
        alignas(T) std::byte bytes[sizeof(T)];
    };
    // Slots larger than half a line start on a line, so that neighbours share none.
    static constexpr std::size_t kSlotAlignment =
        std::max(alignof(Plain), sizeof(Plain) > core::kCacheLine / 2 ? core::kCacheLine : 1);
    struct alignas(kSlotAlignment) Slot : Plain {
        T* message() noexcept { return std::launder(reinterpret_cast<T*>(this->bytes)); }
    };
    static constexpr std::size_t kAlignment = std::max(kSlotAlignment, core::kFalseSharingRange);

    /// Prefetches the lines of a later slot, which the consumer had last: the stores that will fill it then hit the
    /// cache, because the processor's store buffer holds the stores of only a few slots.
    void fetch_ahead(std::uint64_t position) noexcept {
        constexpr std::size_t kBytes = 1'024;
        const auto* const ahead = reinterpret_cast<const std::byte*>(&slot(position + kBytes / sizeof(Slot) + 1));
        for (std::size_t at = 0; at < std::min(sizeof(Slot), kBytes); at += core::kCacheLine) {
            __builtin_prefetch(ahead + at, 1);
        }
    }
    /// A message that was just written field by field cannot be read in wider loads without a stall: no vectors.
    static void copy_words(std::byte* into, const std::byte* from) noexcept {
#pragma GCC unroll 32
        for (std::size_t at = 0; at < sizeof(T); at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, from + at, sizeof word);
            asm("" : "+r"(word));  // in a register of its own
            std::memcpy(into + at, &word, sizeof word);
        }
    }
    static constexpr bool kByWords =
        std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint64_t) == 0 && sizeof(T) <= 256;

    Slot& slot(std::uint64_t position) noexcept { return slots_[position & (capacity_ - 1)]; }

    Slot* slots_;
    std::size_t capacity_;
    std::pmr::memory_resource* memory_;
};

}  // namespace millpond::queue::detail
