#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/confirmed_session.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/sequence_tracker.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::feed {

/// Counters of the datagrams of one line by outcome: datagrams = used + duplicates + late + others + those held now.
/// `sequence` counts what this line alone has lost, reordered and duplicated.
struct LineCounters {
    core::Tally datagrams;
    core::Tally used;           ///< Brought messages that no other line had brought before.
    core::Tally duplicates;     ///< Brought nothing new.
    core::Tally late;           ///< Brought messages of a gap that had been given up; not applied.
    core::Tally others;         ///< Heartbeats, and datagrams without numbers, of another session or all damaged.
    core::Tally filled;         ///< Datagrams of `used` that filled a gap while later ones waited.
    core::Tally messages_used;  ///< Messages that no other line had brought before.

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("line_datagrams", "Datagrams of the line.", datagrams);
        visitor("line_used", "Datagrams with new messages.", used);
        visitor("line_duplicates", "Datagrams whose messages had arrived before.", duplicates);
        visitor("line_late", "Datagrams with messages that had been given up.", late);
        visitor("line_others", "Heartbeats, and datagrams without numbers, of another session or all damaged.", others);
        visitor("line_messages_used", "Messages that no other line had brought before.", messages_used);
        visitor("line_filled", "Datagrams that filled a gap while later ones waited.", filled);
    }
};

/// Merges several lines that carry the same numbered messages into one feed: the first copy of each is used. Lines may
/// divide them into datagrams differently; the decoder skips those of a datagram that it has already.
/// Datagrams after a gap are held until another line fills the gap, or until the owner gives it up; the decoder then
/// sees the gap. Order is kept, and messages that one line received are delayed by at most the time of the gap.
///
/// The first datagrams after the start are held until message 1 is among them, until no slot is free, or until the
/// owner gives up, because earlier ones may still arrive. If they are of several sessions, the first session that
/// brings data is used.
///
/// Each line's first datagram of a new session is held until the line confirms the session, by the rule of
/// ConfirmedSession. Once one line confirms it, the datagrams that all lines hold of it are applied. A session of a
/// line that has never been in the feed's session is not assumed to be newer: it begins only if the feed's session has
/// brought no data, is over or is silent.
///
/// A line that goes back to lower numbers is ignored while the other one brings new numbers, since its numbers may be
/// of other messages. If no line has brought anything new for a run of datagrams (SequenceTracker::kRestartAfter), the
/// sender has restarted.
///
/// The numbers are the decoder's; `Target` gives access to it:
///     target.next(), target.session()    of its sequence; next() is 0 before the first datagram
///     target.accepts(session)            false for another channel of the group
///     target.is_missing(first, last)     true if a gap that it has seen includes some of these numbers
///     target.decode(bytes, arrival)
///     target.begin_session(session, first, arrival)
///                                        discards all state; `first` is the session's lowest number so far
///     target.restart_at(first, arrival)  the sender restarts at a lower number: discards all state
///
/// Threads: one; counters may be read on any.
/// Memory:  `held` slots of `max_bytes` and a ConfirmedSession a line, allocated and touched in the constructor.
template <class Decoder>
class LineArbiter {
public:
    using Format = Sequencing<Decoder>;
    using Session = typename Format::Session;
    using Numbers = SequencedDatagram<Session>;

    struct Options {
        std::size_t held{512};  ///< Maximum datagrams held after gaps, 1 to 65,535. One more gives up the first gap.
        std::size_t max_bytes{2'048};  ///< Maximum length of a held datagram; a longer one gives up the gaps before it.
        bool from_first{false};  ///< Messages before the first datagram count as a gap too, in formats whose sessions
                                 ///< begin with message 1.
    };
    /// Lines of the feed; index kLines is for answers to requests.
    static constexpr std::size_t kLines = 2;
    static constexpr std::size_t kAnswers = kLines;

    /// Missing numbers before the first held datagram.
    struct MissingRange {
        Session session{};
        std::uint64_t first{0};
        std::uint64_t last{0};
    };

    /// Throws std::invalid_argument if `held` is out of range.
    explicit LineArbiter(const Options& options, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// Handles a datagram of line 0 or 1, or an answer (kAnswers).
    template <class Target>
    void receive(std::size_t line, std::span<const std::byte> bytes, const Arrival& arrival, Target& target);

    [[nodiscard]] bool holding() const noexcept { return waiting_ != 0; }
    /// True if the held datagrams are the first ones after the start.
    template <class Target>
    [[nodiscard]] bool joining(const Target& target) const noexcept {
        return waiting_ != 0 && target.next() == 0;
    }
    /// Number of datagrams held now.
    [[nodiscard]] std::size_t held() const noexcept {
        auto held = waiting_;
        for (const auto& line : lines_) held += line.sessions.holding() ? 1U : 0U;
        return held;
    }
    /// Whether a line has shown that these messages of the target's session exist. False for heartbeats.
    template <class Target>
    [[nodiscard]] bool has_shown(const Numbers& numbers, const Target& target) const noexcept {
        if (numbers.count == 0 || !(numbers.session == target.session())) return false;
        return std::ranges::any_of(std::span{lines_}.first(kLines), [&](const Line& line) {
            return line.session == numbers.session && numbers.end() <= line.tracker.next();
        });
    }
    /// When the first gap was detected, in receive_ticks; valid only while holding.
    [[nodiscard]] std::uint64_t since() const noexcept { return since_; }
    /// The first gap; valid only while holding, and not while joining.
    template <class Target>
    [[nodiscard]] MissingRange gap(const Target& target) const noexcept {
        return {target.session(), target.next(), slots_[order_[front_]].numbers.first - 1};
    }
    /// Gives up the first gap, or waiting for earlier messages while joining: passes on the datagrams after it.
    template <class Target>
    void give_up(Target& target);

    [[nodiscard]] const LineCounters& counters(std::size_t line) const noexcept { return lines_[line].counters; }
    [[nodiscard]] const SequenceCounters& sequence(std::size_t line) const noexcept {
        return lines_[line].tracker.counters();
    }
    /// Number of consecutive datagrams of the line that were of another session than the feed's; session_apart is that
    /// session.
    [[nodiscard]] std::uint64_t apart(std::size_t line) const noexcept { return lines_[line].apart; }
    /// True if some of them brought data.
    [[nodiscard]] bool brings_data_apart(std::size_t line) const noexcept { return lines_[line].data_apart; }
    [[nodiscard]] const Session& session_apart(std::size_t line) const noexcept { return lines_[line].session_apart; }
    /// Counts gaps that were given up after their time, or because no slot was free.
    [[nodiscard]] const core::Tally& given_up() const noexcept { return given_up_; }
    /// Counts datagrams of another session that was not confirmed.
    [[nodiscard]] const core::Tally& strays() const noexcept { return strays_; }
    /// Number of datagrams of other sessions, including the strays.
    [[nodiscard]] std::uint64_t foreign() const noexcept { return strays_.read() + behind_; }

private:
    struct Line {
        explicit Line(std::pmr::memory_resource* memory) : sessions(memory) {}

        LineCounters counters;
        SequenceTracker tracker{SequenceTracker::kRestartAfter, SequenceTracker::Counts::claimed};
        Session session{};
        std::uint64_t epoch{0};              // the feed's epoch in which the line was last in the feed's session
        std::uint64_t restarts{0};           // restarts of the feed that this line has followed
        bool went_back{false};               // the line went back to lower numbers, and the feed did not
        ConfirmedSession<Session> sessions;  // sessions that the line brought
        std::uint64_t apart{0};              // consecutive datagrams of another session than the feed's
        bool data_apart{false};              // some of them brought data
        Session session_apart{};
    };
    struct Slot {
        Numbers numbers;
        Arrival arrival;
        std::size_t size{0};
        std::size_t line{0};
    };

    template <class Target>
    void place(std::size_t line, const Numbers& numbers, std::span<const std::byte> bytes, const Arrival& arrival,
               Target& target);
    template <class Target>
    void pass_by(Line& line, const Numbers& numbers, std::span<const std::byte> bytes, const Arrival& arrival,
                 Target& target);
    template <class Target>
    [[nodiscard]] bool enter(std::size_t line, const Numbers& numbers, std::span<const std::byte> bytes,
                             const Arrival& arrival, Target& target);
    template <class Target>
    [[nodiscard]] bool enter_first(std::size_t line, const Numbers& numbers, std::span<const std::byte> bytes,
                                   const Arrival& arrival, Target& target);
    template <class Target>
    void hold(std::size_t line, const Numbers& numbers, std::span<const std::byte> bytes, const Arrival& arrival,
              Target& target);
    template <class Target>
    void let_go(Target& target);
    template <class Target>
    void release_front(Target& target);
    /// Handles a datagram that may start a session.
    template <class Target>
    [[nodiscard]] bool confirm(std::size_t line, const Numbers& numbers, std::span<const std::byte> bytes,
                               const Arrival& arrival, Target& target);
    template <class Target>
    void begin_session(const Numbers& numbers, const Arrival& arrival, Target& target);
    [[nodiscard]] std::uint64_t used() const noexcept;
    [[nodiscard]] bool data_waits() noexcept;
    void drop_waiting() noexcept;
    void drop_stray(LineCounters& counters) noexcept {
        counters.others.add();
        strays_.add();
    }
    /// Drops the stray datagram of another session that the line held.
    void drop_held(Line& line) noexcept {
        line.sessions.drop();
        drop_stray(line.counters);
    }
    [[nodiscard]] std::byte* bytes_of(std::size_t slot) noexcept { return bytes_.data() + slot * max_bytes_; }
    /// The slot of the held datagram at `index`, in order of numbers.
    [[nodiscard]] std::uint16_t& waiting(std::size_t index) noexcept {
        const auto at = front_ + index;
        return order_[at < order_.size() ? at : at - order_.size()];
    }
    template <class Target>
    static void use(LineCounters& counters, std::uint64_t first, std::span<const std::byte> bytes,
                    const Arrival& arrival, Target& target);
    [[nodiscard]] bool observe(Line& line, const Numbers& numbers) noexcept;
    template <class Target>
    void note_apart(Line& line, const Numbers& numbers, const Target& target) noexcept;

    std::size_t max_bytes_;
    bool from_first_;
    std::array<Line, kLines + 1> lines_;
    std::pmr::vector<std::byte> bytes_;
    std::pmr::vector<Slot> slots_;
    std::pmr::vector<std::uint16_t> order_;  // ring of the occupied slots, by their first number
    std::pmr::vector<std::uint16_t> free_;   // free slots; never longer than at first
    std::size_t front_{0};
    std::size_t waiting_{0};
    std::uint64_t since_{0};
    std::int64_t heard_utc_ns_{0};  // when any line last brought the decoder's session
    std::uint64_t epoch_{1};        // increases with each session of the decoder
    std::uint64_t used_before_{0};  // datagrams used before that session began
    bool ended_{false};             // that session has announced its end
    std::uint64_t behind_{0};       // datagrams of other sessions, without the strays
    std::optional<Session> left_;
    std::uint64_t old_run_{0};   // consecutive datagrams that brought nothing new
    std::uint64_t restarts_{0};  // restarts of the sender at a lower number
    core::Tally given_up_;
    core::Tally strays_;
};

}  // namespace millpond::feed

#include <millpond/feed/detail/line_arbiter_impl.hpp>
#include <millpond/feed/detail/line_sessions_impl.hpp>
