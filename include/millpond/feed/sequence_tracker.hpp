#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <millpond/core/tally.hpp>

namespace millpond::feed {

/// What became of a channel's sequence numbers. One thread adds, any reads.
struct SequenceCounters {
    core::Tally gaps;        ///< Times that numbers were jumped over.
    core::Tally missing;     ///< Numbers jumped over.
    core::Tally late;        ///< Numbers of those that came after all; not applied.
    core::Tally duplicates;  ///< Numbers that had come before; not applied.
    core::Tally unresolved;  ///< Old numbers of which it is no longer known whether they were late or duplicates.
    core::Tally restarts;    ///< Times that the sender began again at a lower number.
    core::Tally doubted;     ///< Announcements far ahead that were not believed at once.

    /// Calls visit(name, help, tally) for each.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("sequence_gaps", "Gaps in the sequence numbers.", gaps);
        visitor("sequence_missing", "Sequence numbers missing.", missing);
        visitor("sequence_late", "Missing sequence numbers that arrived too late to be applied.", late);
        visitor("sequence_duplicates", "Sequence numbers that had arrived before.", duplicates);
        visitor("sequence_unresolved", "Old sequence numbers, late or duplicated.", unresolved);
        visitor("sequence_restarts", "Restarts of the sender at a lower sequence number.", restarts);
        visitor("sequence_doubted", "Heartbeats far ahead of the feed that were not trusted at first.", doubted);
    }
};

/// Tracks the sequence numbers of one channel: finds missing, late and duplicate ones.
///
/// In order costs O(1). An old number is looked for in at most kMaxRanges missing ranges; when more are missing, the
/// oldest range is forgotten and its numbers count as unresolved should they come.
///
/// A sender that begins again at a lower number without saying so (a looped replay) looks like duplicates at first, and
/// behind a single wrong number far ahead a sound sender looks late: after a run of old datagrams (kRestartAfter), each
/// with higher numbers than the ones before, the next one is believed. Copies, small gaps and a few strays do not end
/// the run, so that a faulty network hides no restart.
///
/// An announcement (a heartbeat names the number that comes next) shows a loss at the end of a burst. One that is
/// kFarAhead or more ahead is a gap only when the next announcement is as high: a single stray heartbeat must not void
/// every book. The next number in order refutes it. Messages far ahead are believed at once.
///
/// Threads: one; counters() may be read on any.
class SequenceTracker {
public:
    static constexpr std::size_t kMaxRanges = 64;
    static constexpr std::uint32_t kRestartAfter = 32;
    /// Far more than a burst of datagrams between two heartbeats loses.
    static constexpr std::uint64_t kFarAhead = 65'536;

    /// What one datagram meant.
    struct Step {
        std::uint64_t old{0};        ///< So many of its first numbers must not be applied.
        std::uint64_t gap_first{0};  ///< Numbers gap_first..gap_last were jumped over; none when both are 0.
        std::uint64_t gap_last{0};
        bool restarted{false};  ///< The sender restarted: discard the state of the channel, then apply all of it.

        [[nodiscard]] bool gap() const noexcept { return gap_last != 0; }
    };

    /// restart_after: old datagrams in a row before the sender is believed to have restarted. More than kRestartAfter
    /// where each message is observed separately, so that a few duplicated datagrams do not look like it.
    explicit SequenceTracker(std::uint32_t restart_after = kRestartAfter) noexcept : restart_after_(restart_after) {}

    /// A datagram that carries `count` numbers from `first` on; count 0 announces that `first` comes next. A range that
    /// would pass the largest 64-bit number is ignored: all of it is old.
    Step observe(std::uint64_t first, std::uint64_t count) noexcept;

    /// A new session: its first number is known. Earlier numbers are no longer compared.
    void start(std::uint64_t first) noexcept;

    /// The sender restarts at `first`, as the caller has found out.
    void restart(std::uint64_t first) noexcept {
        counters_.restarts.add();
        start(first);
    }

    /// The number that comes next; 0 when none has been seen.
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }

    /// Whether some of these numbers are among the missing. Looks at the ranges from the newest to these numbers.
    [[nodiscard]] bool is_missing(std::uint64_t first, std::uint64_t last) const noexcept {
        for (auto i = ranges_; i != 0 && missing_[i - 1].last >= first; --i) {
            if (missing_[i - 1].first <= last) return true;
        }
        return false;
    }

    [[nodiscard]] const SequenceCounters& counters() const noexcept { return counters_; }

private:
    /// Numbers that a run's next datagram may be ahead of the last one or behind: a few datagrams.
    static constexpr std::uint64_t kNear = 128;
    static constexpr std::uint32_t kStrays = 2;

    struct Range {
        std::uint64_t first;
        std::uint64_t last;
    };

    [[nodiscard]] bool is_doubtful(std::uint64_t announced) noexcept;
    void remember(Range missing) noexcept;
    void account_old(Range old) noexcept;
    [[nodiscard]] bool looks_restarted(Range old) noexcept;
    void drop(std::size_t index) noexcept;

    std::uint32_t restart_after_;
    std::uint64_t next_{0};
    std::uint64_t forgotten_{0};  // highest number of a range that was dropped for lack of room
    std::uint64_t announced_{0};  // far ahead, and not believed yet; 0: nothing
    std::uint64_t restart_next_{0};
    std::uint32_t restart_run_{0};
    std::uint32_t restart_strays_{0};  // in a row, since the run's last
    std::size_t ranges_{0};
    std::array<Range, kMaxRanges> missing_{};  // ascending, disjoint
    SequenceCounters counters_;
};

inline SequenceTracker::Step SequenceTracker::observe(std::uint64_t first, std::uint64_t count) noexcept {
    Step step;
    if (first == next_ && next_ != 0 && count < std::numeric_limits<std::uint64_t>::max() - first) {
        next_ += count;
        restart_run_ = 0;
        announced_ = 0;
        return step;
    }
    if (first == 0 || count >= std::numeric_limits<std::uint64_t>::max() - first) {
        step.old = count;
        return step;
    }
    if (next_ == 0) {  // joined in mid-stream: what came before is not missed
        start(first);
        next_ += count;
        return step;
    }
    if (first > next_) {
        if (count == 0 && is_doubtful(first)) return step;
        step.gap_first = next_;
        step.gap_last = first - 1;
        counters_.gaps.add();
        counters_.missing.add(first - next_);
        remember({step.gap_first, step.gap_last});
        next_ = first + count;
        restart_run_ = 0;
        announced_ = 0;
        return step;
    }
    if (count == 0) return step;  // an announcement that was overtaken
    const auto end = first + count;
    if (end <= next_ && looks_restarted({first, end - 1})) {
        restart(end);
        step.restarted = true;
        return step;
    }
    step.old = end <= next_ ? count : next_ - first;
    account_old({first, first + step.old - 1});
    if (end > next_) {
        next_ = end;
        restart_run_ = 0;
        announced_ = 0;
    }
    return step;
}

inline void SequenceTracker::start(std::uint64_t first) noexcept {
    next_ = first;
    forgotten_ = first - 1;
    restart_run_ = 0;
    announced_ = 0;
    ranges_ = 0;
}

inline bool SequenceTracker::is_doubtful(std::uint64_t announced) noexcept {
    if (announced - next_ < kFarAhead || (announced_ != 0 && announced >= announced_)) return false;
    announced_ = announced;
    counters_.doubted.add();
    return true;
}

inline bool SequenceTracker::looks_restarted(Range old) noexcept {
    const bool follows = restart_run_ != 0 && old.first + kNear >= restart_next_ && old.first <= restart_next_ + kNear;
    if (follows && old.last < restart_next_) return false;  // a copy, or late
    if (!follows && restart_run_ != 0 && ++restart_strays_ <= kStrays) return false;
    restart_strays_ = 0;
    restart_run_ = follows ? restart_run_ + 1 : 1;
    restart_next_ = old.last + 1;
    return restart_run_ > restart_after_;
}

inline void SequenceTracker::remember(Range missing) noexcept {
    if (ranges_ == kMaxRanges) {
        forgotten_ = missing_[0].last;
        drop(0);
    }
    missing_[ranges_++] = missing;
}

inline void SequenceTracker::drop(std::size_t index) noexcept {
    for (auto i = index + 1; i < ranges_; ++i) missing_[i - 1] = missing_[i];
    --ranges_;
}

inline void SequenceTracker::account_old(Range old) noexcept {
    std::uint64_t late = 0;
    for (std::size_t i = 0; i < ranges_;) {
        const auto range = missing_[i];
        const auto first = old.first > range.first ? old.first : range.first;
        const auto last = old.last < range.last ? old.last : range.last;
        if (first > last) {
            ++i;
            continue;
        }
        late += last - first + 1;
        const bool head = first > range.first;
        const bool tail = last < range.last;
        if (head && tail) {  // came in the middle: the range splits
            if (ranges_ == kMaxRanges) {
                forgotten_ = first > forgotten_ ? first - 1 : forgotten_;
                missing_[i].first = last + 1;
            } else {
                for (auto j = ranges_; j > i; --j) missing_[j] = missing_[j - 1];
                ++ranges_;
                missing_[i] = {range.first, first - 1};
                missing_[i + 1] = {last + 1, range.last};
            }
            break;
        }
        if (head) {
            missing_[i++].last = first - 1;
        } else if (tail) {
            missing_[i++].first = last + 1;
        } else {
            drop(i);
        }
    }
    const auto below = old.first > forgotten_ ? 0 : (old.last < forgotten_ ? old.last : forgotten_) - old.first + 1;
    const auto count = old.last - old.first + 1;
    const auto unresolved = below < count - late ? below : count - late;
    counters_.late.add(late);
    counters_.unresolved.add(unresolved);
    counters_.duplicates.add(count - late - unresolved);
}

}  // namespace millpond::feed
