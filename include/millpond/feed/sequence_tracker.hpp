#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <millpond/core/tally.hpp>

namespace millpond::feed {

/// Counters of a channel's sequence numbers by outcome. One thread adds, any thread reads.
struct SequenceCounters {
    core::Tally gaps;        ///< Number of gaps.
    core::Tally missing;     ///< Missing numbers, in all gaps.
    core::Tally late;        ///< Missing numbers that arrived later; not applied.
    core::Tally duplicates;  ///< Numbers that had arrived before; not applied.
    core::Tally unresolved;  ///< Old numbers that were either late or duplicates; the range is no longer known.
    core::Tally restarts;    ///< Restarts of the sender at a lower number.
    core::Tally doubted;     ///< Announcements far ahead that were not believed at once.

    /// Calls visit(name, help, tally) for each counter.
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
/// A number in order costs O(1). An old number is searched for in at most kMaxRanges missing ranges; if more are
/// missing, the oldest range is forgotten and its numbers count as unresolved if they arrive.
///
/// A sender that restarts at a lower number without announcing it (a looped replay) looks like duplicates at first, and
/// after a single wrong number far ahead a correct sender looks late. After a run of old datagrams (kRestartAfter),
/// each with higher numbers than the ones before, the next one is therefore believed. Copies, small gaps and a few
/// strays do not end the run, so that a faulty network hides no restart.
///
/// An announcement (a heartbeat carries the number that comes next) shows a loss at the end of a burst. One that is
/// kFarAhead or more ahead counts as a gap only if the next announcement is as high: a single stray heartbeat must not
/// void every book. The next number in order refutes it. Messages far ahead are believed at once.
///
/// Threads: one; counters() may be read on any.
class SequenceTracker {
public:
    static constexpr std::size_t kMaxRanges = 64;
    static constexpr std::uint32_t kRestartAfter = 32;
    /// Far more numbers than a loss between two heartbeats.
    static constexpr std::uint64_t kFarAhead = 65'536;

    /// The result for one datagram.
    struct Step {
        std::uint64_t old{0};        ///< How many of its first numbers must not be applied.
        std::uint64_t gap_first{0};  ///< Numbers gap_first..gap_last are missing; no gap if both are 0.
        std::uint64_t gap_last{0};
        bool restarted{false};  ///< The sender restarted: discard the state of the channel, then apply all of it.

        [[nodiscard]] bool gap() const noexcept { return gap_last != 0; }
    };

    /// What is observed.
    enum class Counts : std::uint8_t {
        exact,   ///< The numbers of one or more lines, which may overlap.
        claimed  ///< The headers of one line. Its datagrams do not overlap: one that begins within the newest one shows
                 ///< that this one's count was damaged.
    };

    /// restart_after: consecutive old datagrams after which the sender is assumed to have restarted. Use more than
    /// kRestartAfter if each message is observed separately, so that a few duplicated datagrams do not look like a
    /// restart.
    explicit SequenceTracker(std::uint32_t restart_after = kRestartAfter, Counts counts = Counts::exact) noexcept
        : restart_after_(restart_after), counts_(counts) {}

    /// Observes a datagram with `count` numbers from `first` on; count 0 announces that `first` comes next. A range
    /// beyond the largest 64-bit number is ignored: all of it is old.
    Step observe(std::uint64_t first, std::uint64_t count) noexcept;

    /// Starts a session with a known first number. Earlier numbers are no longer compared.
    void start(std::uint64_t first) noexcept;

    /// Restarts at `first` after the caller has detected a restart of the sender.
    void restart(std::uint64_t first) noexcept {
        counters_.restarts.add();
        start(first);
    }

    /// The number that comes next; 0 before the first.
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }

    /// True if all numbers from 1 to next() - 1 were observed.
    [[nodiscard]] bool has_all() const noexcept { return next_ != 0 && forgotten_ == 0 && ranges_ == 0; }
    /// True if some of these numbers are missing. Searches the ranges from the newest to these numbers.
    [[nodiscard]] bool is_missing(std::uint64_t first, std::uint64_t last) const noexcept {
        for (auto i = ranges_; i != 0 && missing_[i - 1].last >= first; --i) {
            if (missing_[i - 1].first <= last) return true;
        }
        return false;
    }

    [[nodiscard]] const SequenceCounters& counters() const noexcept { return counters_; }

private:
    /// Maximum distance, in numbers, between consecutive datagrams of a run: a few datagrams.
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

    static constexpr auto kNone = std::numeric_limits<std::uint64_t>::max();

    std::uint32_t restart_after_;
    Counts counts_;
    std::uint64_t next_{0};
    std::uint64_t newest_{kNone};  // first number of the datagram before, if next_ follows it
    std::uint64_t forgotten_{0};   // highest number of a range that was forgotten
    std::uint64_t announced_{0};   // far ahead, and not believed yet; 0: none
    std::uint64_t restart_next_{0};
    std::uint32_t restart_run_{0};
    std::uint32_t restart_strays_{0};  // consecutive strays since the run's last datagram
    std::size_t ranges_{0};
    std::array<Range, kMaxRanges> missing_{};  // ascending, disjoint
    SequenceCounters counters_;
};

inline SequenceTracker::Step SequenceTracker::observe(std::uint64_t first, std::uint64_t count) noexcept {
    Step step;
    if (first == next_ && next_ != 0 && count < std::numeric_limits<std::uint64_t>::max() - first) {
        next_ += count;
        newest_ = first;
        restart_run_ = 0;
        announced_ = 0;
        return step;
    }
    if (first == 0 || count >= std::numeric_limits<std::uint64_t>::max() - first) {
        step.old = count;
        return step;
    }
    if (next_ == 0) {  // joined in mid-stream: earlier numbers do not count as missing
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
        newest_ = first;
        restart_run_ = 0;
        announced_ = 0;
        return step;
    }
    if (count == 0) return step;  // a later datagram overtook the announcement
    const auto end = first + count;
    // A sender that goes back begins before its newest datagram.
    if (counts_ == Counts::claimed && first > newest_) {
        next_ = end;
        newest_ = first;
        restart_run_ = 0;
        announced_ = 0;
        return step;
    }
    if (first != newest_ || end != next_) newest_ = kNone;  // not a copy
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
    newest_ = kNone;
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
