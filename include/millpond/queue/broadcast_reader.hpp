#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <millpond/queue/broadcast_layout.hpp>
#include <millpond/queue/sequenced_words.hpp>

namespace millpond::queue {

/// The header of an entry.
struct BroadcastHead {
    std::uint64_t number{0};
    std::uint32_t kind{0};
    std::uint32_t bytes{0};  ///< Of the payload, at most 112.
};

/// A copy of one entry.
struct BroadcastMessage : BroadcastHead {
    std::array<std::uint64_t, kBroadcastPayloadWords> words{};  ///< The first bytes / 8 are the payload.

    /// The payload as it was published; the caller has looked at `kind` and, where versions may differ, at `bytes`.
    template <BroadcastPayload Payload>
    [[nodiscard]] Payload as() const noexcept {
        std::array<std::uint64_t, sizeof(Payload) / 8> copy{};
        std::copy_n(words.begin(), copy.size(), copy.begin());
        return std::bit_cast<Payload>(copy);
    }
};

/// Entries first..last, which the writer overwrote before this reader read them.
struct MissedRange {
    std::uint64_t first;
    std::uint64_t last;
    [[nodiscard]] std::uint64_t count() const noexcept { return last - first + 1; }
};

enum class ReadOutcome : std::uint8_t {
    nothing,  ///< The next entry is not published yet: try again later.
    message,  ///< The message was copied.
    missed,   ///< The reader was lapped and has moved on: missed() has the lost range; read again.
};

/// What became of the entries published since the reader began: published = delivered + missed + queued. Entries that
/// were overwritten count as missed at once, before the reader reaches them.
struct BroadcastAccount {
    std::uint64_t since;      ///< Number of the first entry that was to be delivered.
    std::uint64_t published;  ///< Entries from `since` on that are complete.
    std::uint64_t delivered;
    std::uint64_t missed;
    std::uint64_t queued;  ///< Still in the ring: at most its capacity.
};

/// A reader of a broadcast ring, one of any number. Writes nothing to the ring, so it may be mapped read-only.
///
/// Threads: one thread a reader.
/// Memory:  the ring's, which outlives the reader; none beyond this object.
/// Source:  sequenced_words.hpp for the entry's protocol.
template <class Step = NoStep>
class BasicBroadcastReader {
public:
    /// Begins at the next entry to be published. Throws BroadcastError when inspect_broadcast finds anything.
    BasicBroadcastReader(std::span<const std::byte> memory, std::uint32_t content, Step step = {});

    /// Copies the next entry to `into`, which is overwritten in part even when the outcome is not `message`. After a
    /// lap the reader continues an eighth of the ring behind the oldest entry, so that it is not lapped again at once.
    [[nodiscard]] ReadOutcome try_read(BroadcastMessage& into) noexcept;

    /// try_read in two steps, for readers that know the payload's type by its kind: look at the next entry's head, then
    /// take its payload. Looking passes nothing over.
    [[nodiscard]] ReadOutcome try_peek(BroadcastHead& into) noexcept;
    /// Only after try_peek said `message`. False when the entry was overwritten meanwhile, which counts as `missed`;
    /// `into` is then worthless. What of `into` lies beyond the payload's size is left-over.
    template <BroadcastPayload Payload>
    [[nodiscard]] bool try_take(Payload& into) noexcept;

    /// The range of the last outcome `missed`.
    [[nodiscard]] MissedRange missed() const noexcept { return missed_range_; }
    /// Entries in all ranges that outcomes have said to be missed since the reader began; account() is ahead of it.
    [[nodiscard]] std::uint64_t missed_total() const noexcept { return missed_; }

    /// Restarts at entry `number`, with a fresh account: a number that is gone is reported as missed by the next
    /// read, one to come is waited for. 0 counts as 1.
    void seek(std::uint64_t number) noexcept;

    /// Number of the newest complete entry, 0 before the first. Touches the writer's line: not for every read.
    [[nodiscard]] std::uint64_t cursor() const noexcept {
        return header_->cursor.load(std::memory_order_acquire);  // sync "n complete": BasicBroadcastWriter::publish
    }
    /// Number of the oldest entry that a writer in mid-entry leaves readable.
    [[nodiscard]] std::uint64_t oldest() const noexcept;
    /// True when the next entry to be read is already being overwritten: the next read will return `missed`.
    [[nodiscard]] bool overrun() const noexcept {
        // sync "n started": mark_writing; what the caller read before is ordered before this by its own acquires.
        return entries_[next_ & mask_].sequence.load(std::memory_order_acquire) > complete_mark(next_);
    }
    /// Number of the next entry to be read.
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
    [[nodiscard]] std::uint64_t capacity() const noexcept { return mask_ + 1; }

    [[nodiscard]] BroadcastAccount account() const noexcept;

    [[nodiscard]] BroadcastState state() const noexcept;
    /// Time of the writer's last heartbeat.
    [[nodiscard]] std::int64_t heartbeat_utc_ns() const noexcept;
    [[nodiscard]] std::uint64_t writer_pid() const noexcept;
    /// Incremented whenever a new writer continues the ring.
    [[nodiscard]] std::uint64_t writer_starts() const noexcept;
    [[nodiscard]] std::uint64_t epoch() const noexcept { return header_->epoch; }

private:
    ReadOutcome lapped() noexcept;

    const BroadcastHeader* header_;
    const BroadcastEntry* entries_;
    std::uint64_t mask_;
    std::uint64_t next_;
    std::uint64_t since_;
    std::uint64_t missed_{0};
    MissedRange missed_range_{1, 0};
    [[no_unique_address]] Step step_;
};

using BroadcastReader = BasicBroadcastReader<>;

template <class Step>
BasicBroadcastReader<Step>::BasicBroadcastReader(std::span<const std::byte> memory, std::uint32_t content, Step step)
    : header_(reinterpret_cast<const BroadcastHeader*>(memory.data())),
      entries_(reinterpret_cast<const BroadcastEntry*>(memory.data() + sizeof(BroadcastHeader))),
      step_(std::move(step)) {
    if (const auto fault = inspect_broadcast(memory, content); fault != BroadcastFault::none) {
        throw BroadcastError(fault);
    }
    mask_ = header_->capacity - 1;
    next_ = since_ = cursor() + 1;
}

template <class Step>
ReadOutcome BasicBroadcastReader<Step>::try_peek(BroadcastHead& into) noexcept {
    const auto& entry = entries_[next_ & mask_];
    const auto wanted = complete_mark(next_);
    const auto mark = entry.sequence.load(std::memory_order_acquire);  // sync "n complete": mark_complete
    step_();
    if (mark < wanted) return ReadOutcome::nothing;
    if (mark > wanted) return lapped();
    std::uint64_t kind_and_bytes = 0;
    load_words(&entry.kind_and_bytes, kind_and_bytes, step_);
    into.number = next_;
    into.kind = static_cast<std::uint32_t>(kind_and_bytes);
    into.bytes = std::min(static_cast<std::uint32_t>(kind_and_bytes >> 32U),
                          static_cast<std::uint32_t>(8 * kBroadcastPayloadWords));
    return ReadOutcome::message;
}

template <class Step>
template <BroadcastPayload Payload>
bool BasicBroadcastReader<Step>::try_take(Payload& into) noexcept {
    const auto& entry = entries_[next_ & mask_];
    load_words(entry.payload.data(), into, step_);
    if (!still_marked(entry.sequence, complete_mark(next_))) {
        (void)lapped();
        return false;
    }
    ++next_;
    return true;
}

template <class Step>
ReadOutcome BasicBroadcastReader<Step>::try_read(BroadcastMessage& into) noexcept {
    const auto outcome = try_peek(into);
    if (outcome != ReadOutcome::message) return outcome;
    return try_take(into.words) ? ReadOutcome::message : ReadOutcome::missed;
}

template <class Step>
ReadOutcome BasicBroadcastReader<Step>::lapped() noexcept {
    // What lapped us is entry next_ + capacity or later, so this is above next_; the bound guards against a broken
    // writer.
    const auto resume = std::max(oldest() + capacity() / 8, next_ + 1);
    missed_range_ = {next_, resume - 1};
    missed_ += missed_range_.count();
    next_ = resume;
    return ReadOutcome::missed;
}

template <class Step>
std::uint64_t BasicBroadcastReader<Step>::oldest() const noexcept {
    const auto newest = cursor();
    // The slot of newest + 1 may be in the middle of being written, which ends newest + 1 - capacity.
    return newest + 2 > capacity() ? newest + 2 - capacity() : 1;
}

template <class Step>
void BasicBroadcastReader<Step>::seek(std::uint64_t number) noexcept {
    next_ = since_ = std::max<std::uint64_t>(number, 1);
    missed_ = 0;
}

template <class Step>
BroadcastAccount BasicBroadcastReader<Step>::account() const noexcept {
    const auto end = std::max(cursor() + 1, next_);  // an entry is readable before the cursor counts it
    const auto readable = end > next_ + capacity() ? end - capacity() : next_;
    return {.since = since_,
            .published = end - since_,
            .delivered = next_ - since_ - missed_,
            .missed = missed_ + (readable - next_),
            .queued = end - readable};
}

template <class Step>
BroadcastState BasicBroadcastReader<Step>::state() const noexcept {
    // sync "stream over": BasicBroadcastWriter::mark
    return static_cast<BroadcastState>(header_->state.load(std::memory_order_acquire));
}

template <class Step>
std::int64_t BasicBroadcastReader<Step>::heartbeat_utc_ns() const noexcept {
    return static_cast<std::int64_t>(header_->heartbeat_utc_ns.load(std::memory_order_relaxed));
}

template <class Step>
std::uint64_t BasicBroadcastReader<Step>::writer_pid() const noexcept {
    return header_->writer_pid.load(std::memory_order_relaxed);
}

template <class Step>
std::uint64_t BasicBroadcastReader<Step>::writer_starts() const noexcept {
    return header_->writer_starts.load(std::memory_order_relaxed);
}

}  // namespace millpond::queue
