#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/exceptions.hpp>
#include <millpond/queue/broadcast_layout.hpp>
#include <millpond/queue/sequenced_words.hpp>

namespace millpond::queue {

/// The single producer of a broadcast ring. Never waits, knows no readers, and overwrites the oldest entry.
///
/// Threads: publish, heartbeat and mark on one thread; readers anywhere.
/// Memory:  the caller's (broadcast_bytes(capacity), aligned to 128), which outlives the writer. The caller
///          ensures that there is only one writer: market::RingWriter holds a lock on the object.
/// Source:  sequenced_words.hpp for the entry's protocol.
template <class Step = NoStep>
class BasicBroadcastWriter {
public:
    /// Makes an empty ring in `memory` and discards its contents. content: identifies the meaning of kinds and
    /// payloads. epoch: identifies this numbering, and differs from that of every earlier ring of the same name.
    /// O(capacity). Throws std::invalid_argument if `capacity` is not a power of two, BroadcastError if the memory is
    /// unsuitable.
    [[nodiscard]] static BasicBroadcastWriter create(std::span<std::byte> memory, std::uint64_t capacity,
                                                     std::uint32_t content, std::uint64_t epoch, Step step = {});

    /// Continues a ring whose writer has ended, after its newest complete entry. An entry that was being written is
    /// discarded: no reader has seen it, and its number is used again. Readers are not disturbed. O(capacity).
    /// Throws BroadcastError if inspect_broadcast finds a fault.
    [[nodiscard]] static BasicBroadcastWriter resume(std::span<std::byte> memory, std::uint32_t content,
                                                     Step step = {});

    BasicBroadcastWriter(BasicBroadcastWriter&&) noexcept = default;
    BasicBroadcastWriter& operator=(BasicBroadcastWriter&&) noexcept = default;
    BasicBroadcastWriter(const BasicBroadcastWriter&) = delete;
    BasicBroadcastWriter& operator=(const BasicBroadcastWriter&) = delete;
    ~BasicBroadcastWriter() = default;

    /// Writes the next entry and returns its number.
    template <BroadcastPayload Payload>
    std::uint64_t publish(std::uint32_t kind, const Payload& payload) noexcept;

    /// Number of the next entry to be published.
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
    [[nodiscard]] std::uint64_t capacity() const noexcept { return mask_ + 1; }
    [[nodiscard]] std::uint64_t epoch() const noexcept { return header_->epoch; }

    /// Shows readers that the writer is alive; they compare `utc_ns` with their clock.
    void heartbeat(std::int64_t utc_ns) noexcept;
    /// Shows readers which process writes.
    void set_pid(std::uint64_t pid) noexcept { header_->writer_pid.store(pid, std::memory_order_relaxed); }
    /// Ends the stream for readers; the writer must not be used afterwards.
    void mark(BroadcastState state) noexcept;

private:
    BasicBroadcastWriter(std::span<std::byte> memory, std::uint64_t capacity, Step step) noexcept;
    void recover() noexcept;
    /// Prefetches the cache lines of a later entry, which readers had last, so that its stores hit the cache: the
    /// processor's store buffer holds the stores of only a few entries.
    void fetch_ahead(std::uint64_t number) const noexcept {
        constexpr std::uint64_t kEntries = 8;
        const auto& ahead = entries_[(number + kEntries) & mask_];
        __builtin_prefetch(&ahead, 1);
        __builtin_prefetch(reinterpret_cast<const std::byte*>(&ahead) + core::kCacheLine, 1);
    }

    BroadcastHeader* header_;
    BroadcastEntry* entries_;
    std::uint64_t mask_;
    std::uint64_t next_{1};
    [[no_unique_address]] Step step_;
};

using BroadcastWriter = BasicBroadcastWriter<>;

template <class Step>
BasicBroadcastWriter<Step>::BasicBroadcastWriter(std::span<std::byte> memory, std::uint64_t capacity,
                                                 Step step) noexcept
    : header_(reinterpret_cast<BroadcastHeader*>(memory.data())),
      entries_(reinterpret_cast<BroadcastEntry*>(memory.data() + sizeof(BroadcastHeader))),
      mask_(capacity - 1),
      step_(std::move(step)) {}

template <class Step>
BasicBroadcastWriter<Step> BasicBroadcastWriter<Step>::create(std::span<std::byte> memory, std::uint64_t capacity,
                                                              std::uint32_t content, std::uint64_t epoch, Step step) {
    if (!std::has_single_bit(capacity)) {
        MILLPOND_THROW(
            std::invalid_argument("broadcast ring: capacity " + std::to_string(capacity) + " is not a power of two"));
    }
    if (std::bit_cast<std::uintptr_t>(memory.data()) % kBroadcastAlignment != 0) {
        MILLPOND_THROW(BroadcastError(BroadcastFault::misaligned));
    }
    if (memory.size() < sizeof(BroadcastHeader) ||
        (memory.size() - sizeof(BroadcastHeader)) / sizeof(BroadcastEntry) < capacity) {
        MILLPOND_THROW(BroadcastError(BroadcastFault::too_small));
    }
    auto* header = ::new (memory.data()) BroadcastHeader{};
    auto* entries = reinterpret_cast<BroadcastEntry*>(memory.data() + sizeof(BroadcastHeader));
    std::uninitialized_value_construct_n(entries, capacity);
    header->layout_version = kBroadcastLayoutVersion;
    header->content = content;
    header->capacity = capacity;
    header->entry_bytes = sizeof(BroadcastEntry);
    header->entries_offset = sizeof(BroadcastHeader);
    header->epoch = epoch;
    header->writer_starts.store(1, std::memory_order_relaxed);
    header->magic.store(kBroadcastMagic, std::memory_order_release);  // sync "object made": inspect_broadcast
    return BasicBroadcastWriter(memory, capacity, std::move(step));
}

template <class Step>
BasicBroadcastWriter<Step> BasicBroadcastWriter<Step>::resume(std::span<std::byte> memory, std::uint32_t content,
                                                              Step step) {
    if (const auto fault = inspect_broadcast(memory, content); fault != BroadcastFault::none) {
        MILLPOND_THROW(BroadcastError(fault));
    }
    const auto capacity = reinterpret_cast<const BroadcastHeader*>(memory.data())->capacity;
    BasicBroadcastWriter writer(memory, capacity, std::move(step));
    writer.recover();
    return writer;
}

template <class Step>
void BasicBroadcastWriter<Step>::recover() noexcept {
    // The cursor may be one entry behind: the writer may have died between an entry's last store and the cursor's.
    std::uint64_t newest = header_->cursor.load(std::memory_order_relaxed);
    for (std::uint64_t i = 0; i <= mask_; ++i) {
        const auto mark = entries_[i].sequence.load(std::memory_order_acquire);  // sync "n complete": mark_complete
        if (is_complete(mark) && marked_number(mark) > newest) newest = marked_number(mark);
    }
    next_ = newest + 1;
    header_->cursor.store(newest, std::memory_order_release);  // sync "n complete": the readers' cursor loads
    header_->writer_starts.store(header_->writer_starts.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

template <class Step>
template <BroadcastPayload Payload>
std::uint64_t BasicBroadcastWriter<Step>::publish(std::uint32_t kind, const Payload& payload) noexcept {
    const auto number = next_++;
    auto& entry = entries_[number & mask_];
    fetch_ahead(number);
    mark_writing(entry.sequence, number);
    step_();
    store_words(&entry.kind_and_bytes, std::uint64_t{kind} | std::uint64_t{sizeof(Payload)} << 32U, step_);
    store_words(entry.payload.data(), payload, step_);
    mark_complete(entry.sequence, number);
    step_();
    header_->cursor.store(number, std::memory_order_release);  // sync "n complete": the readers' cursor loads
    step_();
    return number;
}

template <class Step>
void BasicBroadcastWriter<Step>::heartbeat(std::int64_t utc_ns) noexcept {
    header_->heartbeat_utc_ns.store(static_cast<std::uint64_t>(utc_ns), std::memory_order_relaxed);
}

template <class Step>
void BasicBroadcastWriter<Step>::mark(BroadcastState state) noexcept {
    // sync "stream over": BasicBroadcastReader::state; who sees it also sees every entry before it.
    header_->state.store(static_cast<std::uint64_t>(state), std::memory_order_release);
}

}  // namespace millpond::queue
