#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include <millpond/core/cache_line.hpp>

namespace millpond::bench {

/// One producer, any number of readers, and a cursor beside the entries with the number of filled ones. A reader
/// touches two lines that the producer writes: the cursor's and the entry's. The producer must not lap a reader.
///
/// Threads: publish on one thread; each Reader on one.
/// Source:  the single-producer sequencer of LMAX Disruptor (technical paper, 2011).
template <std::size_t PayloadWords>
class CursorRing {
public:
    using Payload = std::array<std::uint64_t, PayloadWords>;

    /// capacity: entries, a power of two.
    explicit CursorRing(std::size_t capacity) : entries_(new Entry[capacity]), mask_(capacity - 1) {
        if (!std::has_single_bit(capacity)) throw std::invalid_argument("CursorRing: capacity is no power of two");
    }

    void publish(const Payload& payload) noexcept {
        const auto number = cursor_.load(std::memory_order_relaxed) + 1;
        entries_[number & mask_].payload = payload;
        cursor_.store(number, std::memory_order_release);  // sync "filled up to": the load in try_read
    }

    class Reader {
    public:
        explicit Reader(const CursorRing& ring) noexcept : ring_(&ring) {}

        [[nodiscard]] bool try_read(Payload& into) noexcept {
            if (filled_ == read_) {
                filled_ = ring_->cursor_.load(std::memory_order_acquire);  // sync "filled up to": the store in publish
                if (filled_ == read_) return false;
            }
            into = ring_->entries_[++read_ & ring_->mask_].payload;
            return true;
        }

    private:
        const CursorRing* ring_;
        std::uint64_t read_{0};
        std::uint64_t filled_{0};
    };

private:
    struct alignas(core::kFalseSharingRange) Entry {
        Payload payload;
    };

    std::unique_ptr<Entry[]> entries_;
    std::size_t mask_;
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> cursor_{0};
    std::byte padding_[core::kFalseSharingRange - sizeof(std::uint64_t)];
};

}  // namespace millpond::bench
