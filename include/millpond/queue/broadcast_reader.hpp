#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <millpond/core/exceptions.hpp>
#include <millpond/queue/broadcast_layout.hpp>
#include <millpond/queue/sequenced_words.hpp>

namespace millpond::queue {

/// The header of an entry.
struct BroadcastHead {
    std::uint64_t number{0};
    std::uint32_t kind{0};
    std::uint32_t bytes{0};  ///< Size of the payload, at most 112.
};

/// A copy of one entry.
struct BroadcastMessage : BroadcastHead {
    std::array<std::uint64_t, kBroadcastPayloadWords> words{};  ///< The first bytes / 8 are the payload.

    /// The payload; the caller has checked `kind` and, where versions may differ, `bytes`.
    template <BroadcastPayload Payload>
    [[nodiscard]] Payload as() const noexcept {
        std::array<std::uint64_t, sizeof(Payload) / 8> copy{};
        std::copy_n(words.begin(), copy.size(), copy.begin());
        return std::bit_cast<Payload>(copy);
    }
};

/// Range of entries that the writer overwrote before this reader read them.
struct MissedRange {
    std::uint64_t first;
    std::uint64_t last;
    [[nodiscard]] std::uint64_t count() const noexcept { return last - first + 1; }
};

enum class ReadOutcome : std::uint8_t {
    nothing,  ///< The next entry is not published yet: try again later.
    message,  ///< The message was copied.
    missed,   ///< The reader was lapped and skipped entries: missed() has the range; read again.
};

/// Account of the entries published since the reader joined: published = delivered + missed + queued. Overwritten
/// entries count as missed at once, before the reader reaches them.
struct BroadcastAccount {
    std::uint64_t since;      ///< Number of the first entry to deliver.
    std::uint64_t published;  ///< Complete entries from `since` on.
    std::uint64_t delivered;
    std::uint64_t missed;
    std::uint64_t queued;  ///< Still in the ring: at most its capacity.
};

/// Reader of a broadcast ring. Writes nothing to the ring, which may be mapped read-only; any number of readers.
///
/// Threads: one for each reader.
/// Memory:  this object; the ring must outlive it.
/// Source:  sequenced_words.hpp for the entry's protocol.
template <class Step = NoStep>
class BasicBroadcastReader {
public:
    /// Starts at the next entry to be published. Throws BroadcastError if inspect_broadcast finds a fault.
    BasicBroadcastReader(std::span<const std::byte> memory, std::uint32_t content, Step step = {});

    /// Copies the next entry to `into`, which is overwritten in part even when the outcome is not `message`. After a
    /// lap the reader continues an eighth of the ring behind the oldest entry, so that it is not lapped again at once.
    [[nodiscard]] ReadOutcome try_read(BroadcastMessage& into) noexcept;

    /// try_read in two steps, for readers that know the payload's type by its kind: peek reads the next entry's head
    /// without consuming it, the second step copies its payload.
    [[nodiscard]] ReadOutcome try_peek(BroadcastHead& into) noexcept;
    /// Only after try_peek returned `message`. False if the entry was overwritten meanwhile, which counts as `missed`;
    /// `into` is then undefined, as its bytes beyond the payload's size always are.
    template <BroadcastPayload Payload>
    [[nodiscard]] bool try_consume(Payload& into) noexcept;

    /// Range of the last outcome `missed`.
    [[nodiscard]] MissedRange missed() const noexcept { return missed_range_; }
    /// Entries in all ranges reported as missed since the reader joined; account() may be ahead.
    [[nodiscard]] std::uint64_t missed_total() const noexcept { return missed_; }

    /// Restarts at entry `number` with a new account. The next read reports overwritten entries as missed, and waits
    /// for entries to come. 0 counts as 1.
    void seek(std::uint64_t number) noexcept;

    /// Number of the newest complete entry, 0 before the first. Reads the writer's cache line: do not call it for every
    /// read.
    [[nodiscard]] std::uint64_t cursor() const noexcept {
        return header_->cursor.load(std::memory_order_acquire);  // sync "n complete": BasicBroadcastWriter::publish
    }
    /// Number of the oldest entry that stays readable while the writer writes the next.
    [[nodiscard]] std::uint64_t oldest() const noexcept;
    /// True if the next entry is already being overwritten: the next read returns `missed`.
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
        MILLPOND_THROW(BroadcastError(fault));
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
bool BasicBroadcastReader<Step>::try_consume(Payload& into) noexcept {
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
    return try_consume(into.words) ? ReadOutcome::message : ReadOutcome::missed;
}

template <class Step>
ReadOutcome BasicBroadcastReader<Step>::lapped() noexcept {
    // Entry next_ + capacity or a later one lapped us, so this is above next_; the bound guards against a broken
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
