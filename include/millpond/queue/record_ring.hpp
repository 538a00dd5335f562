#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/exceptions.hpp>

namespace millpond::queue {

/// First-in first-out ring of records of any length, from one producer thread to one consumer thread. Records are
/// contiguous, and written and read in place.
///
///     | length, 8 bytes | record | length | record | length: the rest is skipped |
///
/// The positions are stored in front of the records: a ring in a mapped file survives the death of the process.
///
/// Threads: claim and publish on one thread, front and release on one other, records on any.
/// Memory:  kHeadBytes and `bytes`, zeroed, allocated once from `memory` in the constructor; or the caller's.
/// Source:  Lamport 1983; skipping the end of the ring follows Cooke's "bip buffer".
class RecordRing {
public:
    static constexpr std::size_t kMinBytes = 64;
    static constexpr std::size_t kHeadBytes = 2 * core::kFalseSharingRange;  ///< Aligned to kFalseSharingRange.

    /// bytes: a power of two, kMinBytes or more. Throws std::invalid_argument otherwise.
    explicit RecordRing(std::size_t bytes, std::pmr::memory_resource* memory = std::pmr::get_default_resource());
    /// Uses memory of kHeadBytes and such a size, zeroed or left by an earlier ring, whose records come first. Records
    /// from the first invalid one on are dropped. Throws std::invalid_argument for other sizes.
    explicit RecordRing(std::span<std::byte> memory);
    ~RecordRing() {
        if (memory_ != nullptr) memory_->deallocate(positions_, kHeadBytes + mask_ + 1, kAlignment);
    }
    RecordRing(const RecordRing&) = delete;
    RecordRing& operator=(const RecordRing&) = delete;

    /// Claims memory for a record, aligned to 8 bytes; null if the ring is full or `bytes` exceeds max_bytes().
    /// Another claim before publish replaces it.
    [[nodiscard]] std::byte* claim(std::size_t bytes) noexcept;
    /// Hands the claimed record to the consumer.
    void publish() noexcept;

    /// The oldest record; data() is null if there is none. Returns the same record until release.
    [[nodiscard]] std::span<const std::byte> front() noexcept;
    /// Returns the memory of the oldest record, as seen by front, to the producer.
    void release() noexcept;

    /// Maximum length of a record.
    [[nodiscard]] std::size_t max_bytes() const noexcept { return (mask_ + 1) / 4 - sizeof(Length); }
    /// Approximate number of waiting records.
    [[nodiscard]] std::size_t records() const noexcept {
        // In this order the result may include records published meanwhile, and is never below 0.
        const auto released = positions_->released.load(std::memory_order_acquire);  // sync "record released": there
        return static_cast<std::size_t>(positions_->published.load(std::memory_order_relaxed) - released);
    }
    /// Approximate number of records of an earlier ring that were dropped.
    [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }
    /// Whether records use more than about half of the ring.
    [[nodiscard]] bool is_half_full() const noexcept {
        const auto head = positions_->head.load(std::memory_order_relaxed);
        return positions_->tail.load(std::memory_order_relaxed) - head > (mask_ + 1) / 2;
    }

private:
    using Length = std::uint64_t;
    static constexpr Length kSkip = ~Length{0};
    static constexpr std::size_t kAlignment = core::kFalseSharingRange;

    [[nodiscard]] static constexpr std::uint64_t place_of(std::size_t bytes) noexcept {
        return sizeof(Length) + (bytes + sizeof(Length) - 1) / sizeof(Length) * sizeof(Length);
    }
    [[nodiscard]] Length& length_at(std::uint64_t position) const noexcept {
        return *reinterpret_cast<Length*>(bytes_ + (position & mask_));
    }
    [[nodiscard]] std::uint64_t left_of_lap(std::uint64_t position) const noexcept {
        return mask_ + 1 - (position & mask_);
    }

    /// Positions only grow; the offset is the position modulo the ring's size. Separate cache lines for each writing
    /// thread.
    struct Positions {
        alignas(kAlignment) std::atomic<std::uint64_t> tail{0};
        std::atomic<std::uint64_t> published{0};
        alignas(kAlignment) std::atomic<std::uint64_t> head{0};
        std::atomic<std::uint64_t> released{0};
    };
    static_assert(sizeof(Positions) == kHeadBytes);

    static void check_size(std::size_t bytes);
    void recover() noexcept;

    Positions* positions_;
    std::byte* bytes_;
    std::uint64_t mask_;
    std::pmr::memory_resource* memory_;  // null: the memory is the caller's
    std::size_t left_out_{0};
    alignas(core::kFalseSharingRange) std::uint64_t claimed_{0};  // of the producer: where the claimed record begins
    std::uint64_t claimed_end_{0};
    std::uint64_t head_seen_{0};
    alignas(core::kFalseSharingRange) std::uint64_t tail_seen_{0};  // of the consumer
};

inline void RecordRing::check_size(std::size_t bytes) {
    if (std::has_single_bit(bytes) && bytes >= kMinBytes) return;
    MILLPOND_THROW(std::invalid_argument("RecordRing: " + std::to_string(bytes) + " bytes are no power of two from " +
                                         std::to_string(kMinBytes) + " on"));
}

inline RecordRing::RecordRing(std::size_t bytes, std::pmr::memory_resource* memory)
    : mask_(bytes - 1), memory_(memory) {
    check_size(bytes);
    auto* const place = static_cast<std::byte*>(memory_->allocate(kHeadBytes + bytes, kAlignment));
    positions_ = std::construct_at(reinterpret_cast<Positions*>(place));
    bytes_ = place + kHeadBytes;
    std::uninitialized_fill_n(bytes_, bytes, std::byte{0});  // makes its pages present
}

inline RecordRing::RecordRing(std::span<std::byte> memory)
    : positions_(reinterpret_cast<Positions*>(memory.data())),
      bytes_(memory.data() + kHeadBytes),
      mask_(memory.size() - kHeadBytes - 1),
      memory_(nullptr) {
    check_size(memory.size() < kHeadBytes ? 0 : memory.size() - kHeadBytes);
    recover();
}

/// A process that died between two stores leaves inconsistent counts; a machine that crashed may leave anything.
inline void RecordRing::recover() noexcept {
    const auto tail = positions_->tail.load(std::memory_order_relaxed);
    const auto head = positions_->head.load(std::memory_order_relaxed);
    auto end = head;  // of the last valid record
    std::uint64_t records = 0;
    const bool is_sound = head % sizeof(Length) == 0 && tail - head <= mask_ + 1;
    auto at = head;
    while (is_sound && at != tail) {
        const auto length = length_at(at);
        const auto bytes = length == kSkip ? left_of_lap(at) : place_of(static_cast<std::size_t>(length));
        const bool fits = length == kSkip || (length <= max_bytes() && bytes <= left_of_lap(at));
        if (!fits || bytes > tail - at) break;
        at += bytes;
        if (length == kSkip) continue;
        end = at;
        ++records;
    }
    if (at != tail) {
        // The process may have died between the stores of two counts.
        const auto counted = positions_->published.load(std::memory_order_relaxed) -
                             positions_->released.load(std::memory_order_relaxed);
        const bool is_likely = counted > records && counted <= (mask_ + 1) / sizeof(Length);
        left_out_ = static_cast<std::size_t>(is_likely ? counted - records : 1);
    }
    positions_->head.store(is_sound ? head : 0, std::memory_order_relaxed);
    positions_->tail.store(is_sound ? end : 0, std::memory_order_relaxed);
    positions_->published.store(records, std::memory_order_relaxed);
    positions_->released.store(0, std::memory_order_relaxed);
    head_seen_ = tail_seen_ = positions_->head.load(std::memory_order_relaxed);
}

inline std::byte* RecordRing::claim(std::size_t bytes) noexcept {
    if (bytes > max_bytes()) return nullptr;
    const auto at = positions_->tail.load(std::memory_order_relaxed);
    const auto needed = place_of(bytes);
    const auto left = left_of_lap(at);
    const auto begin = needed <= left ? at : at + left;
    if (begin + needed - head_seen_ > mask_ + 1) {
        head_seen_ = positions_->head.load(std::memory_order_acquire);  // sync "place freed": the store in release
        if (begin + needed - head_seen_ > mask_ + 1) return nullptr;
    }
    if (begin != at) length_at(at) = kSkip;
    length_at(begin) = bytes;
    claimed_ = begin;
    claimed_end_ = begin + needed;
    return bytes_ + (begin & mask_) + sizeof(Length);
}

inline void RecordRing::publish() noexcept {
    auto& published = positions_->published;
    published.store(published.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    positions_->tail.store(claimed_end_, std::memory_order_release);  // sync "record filled": the load in front
}

inline std::span<const std::byte> RecordRing::front() noexcept {
    auto at = positions_->head.load(std::memory_order_relaxed);
    if (at == tail_seen_) {
        tail_seen_ = positions_->tail.load(std::memory_order_acquire);  // sync "record filled": the store in publish
        if (at == tail_seen_) return {};
    }
    if (length_at(at) == kSkip) {
        at += left_of_lap(at);
        positions_->head.store(at, std::memory_order_release);  // sync "place freed": the load in claim
    }
    return {bytes_ + (at & mask_) + sizeof(Length), static_cast<std::size_t>(length_at(at))};
}

inline void RecordRing::release() noexcept {
    const auto at = positions_->head.load(std::memory_order_relaxed);
    positions_->head.store(at + place_of(static_cast<std::size_t>(length_at(at))),
                           std::memory_order_release);  // sync "place freed": the load in claim
    auto& released = positions_->released;
    released.store(released.load(std::memory_order_relaxed) + 1,
                   std::memory_order_release);  // sync "record released": the load in records
}

}  // namespace millpond::queue
