#pragma once

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

/// What became of the datagrams of one line: datagrams = used + duplicates + late + others + those held at the moment.
/// `sequence` is what this line alone has lost, reordered and doubled.
struct LineCounters {
    core::Tally datagrams;
    core::Tally used;        ///< Brought something that no other had brought before.
    core::Tally duplicates;  ///< Brought nothing new.
    core::Tally late;        ///< Brought what had been given up; not applied.
    core::Tally others;      ///< Heartbeats, and what has no numbers or another session: the decoder judges.
    core::Tally filled;      ///< Those of `used` that filled a gap while later ones waited.

    /// Calls visit(name, help, tally) for each.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("line_datagrams", "Datagrams of the line.", datagrams);
        visitor("line_used", "Datagrams with new messages.", used);
        visitor("line_duplicates", "Datagrams whose messages had arrived before.", duplicates);
        visitor("line_late", "Datagrams with messages that had been given up.", late);
        visitor("line_others", "Heartbeats, and datagrams without numbers or of another session.", others);
        visitor("line_filled", "Datagrams that filled a gap while later ones waited.", filled);
    }
};

/// Makes one feed of several lines that carry the same numbered datagrams: of each number the first that comes is
/// used. What comes behind a hole is held until another line closes it, or until the owner gives it up; then the
/// decoder sees the gap. So what no line has lost is never late for more than the hole's time, and order is kept.
///
/// Each line's first datagram of a new session is held until the line confirms it, by the rule of ConfirmedSession.
/// What each line has held goes into the session when one of them does.
///
/// A line that goes back to lower numbers is ignored while the other brings new ones, since its numbers may mean other
/// messages. When no line has brought anything new for a run of datagrams (SequenceTracker::kRestartAfter), the sender
/// has restarted.
///
/// The numbers are the decoder's own: `Target` is the way to it.
///     target.next(), target.session()    of its sequence; next() is 0 before the first datagram
///     target.is_missing(first, last)     whether it has seen a gap that holds some of these numbers
///     target.decode(bytes, arrival)
///     target.begin_session(session, first, arrival)  forget everything; `first` is the lowest number seen of it
///     target.begin_again(first, arrival) the sender begins again at a lower number: forget everything
///
/// Threads: one; counters may be read on any.
/// Memory:  `held` slots of `most_bytes` and a ConfirmedSession a line, taken and touched in the constructor.
template <class Decoder>
class LineArbiter {
public:
    using Format = Sequencing<Decoder>;
    using Session = typename Format::Session;
    using Numbers = SequencedDatagram<Session>;

    struct Options {
        std::size_t held{512};  ///< Datagrams that wait behind holes; 1 to 65,535. One more gives the first hole up.
        std::size_t most_bytes{2'048};  ///< Of one that can wait; a longer one gives the holes before it up.
        bool from_first{false};         ///< What came before the first datagram of all is a hole too, where a format's
                                        ///< sessions begin with message 1.
    };
    /// Lines of the feed, and one more for answers to requests.
    static constexpr std::size_t kLines = 2;
    static constexpr std::size_t kAnswers = kLines;

    /// Numbers that are missing while later ones wait.
    struct Hole {
        Session session{};
        std::uint64_t first{0};
        std::uint64_t last{0};
    };

    /// Throws std::invalid_argument.
    explicit LineArbiter(const Options& options, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// A datagram of line 0 or 1, or an answer (kAnswers).
    template <class Target>
    void take(std::size_t line, std::span<const std::byte> bytes, const Arrival& arrival, Target& target);

    [[nodiscard]] bool holding() const noexcept { return waiting_ != 0; }
    /// Datagrams held at the moment.
    [[nodiscard]] std::size_t held() const noexcept {
        auto held = waiting_;
        for (const auto& line : lines_) held += line.sessions.holding() ? 1U : 0U;
        return held;
    }
    /// Since when, in receive_ticks, the first hole is known; only while holding.
    [[nodiscard]] std::uint64_t since() const noexcept { return since_; }
    /// The first gap; only while holding.
    template <class Target>
    [[nodiscard]] Hole hole(const Target& target) const noexcept {
        return {target.session(), target.next(), slots_[order_[front_]].numbers.first - 1};
    }
    /// The first gap will not be filled: the datagrams after it are passed on.
    template <class Target>
    void give_up(Target& target);

    [[nodiscard]] const LineCounters& counters(std::size_t line) const noexcept { return lines_[line].counters; }
    [[nodiscard]] const SequenceCounters& sequence(std::size_t line) const noexcept {
        return lines_[line].tracker.counters();
    }
    /// Datagrams in a row that the line brought of another session than the feed's, and that session.
    [[nodiscard]] std::uint64_t apart(std::size_t line) const noexcept { return lines_[line].apart; }
    [[nodiscard]] const Session& session_apart(std::size_t line) const noexcept { return lines_[line].session_apart; }
    /// Gaps that were given up after their time, or because there was no room.
    [[nodiscard]] const core::Tally& given_up() const noexcept { return given_up_; }
    /// Datagrams of another session that was not confirmed.
    [[nodiscard]] const core::Tally& strays() const noexcept { return strays_; }

private:
    struct Line {
        explicit Line(std::pmr::memory_resource* memory) : sessions(memory) {}

        LineCounters counters;
        SequenceTracker tracker{SequenceTracker::kRestartAfter};
        Session session{};
        std::uint64_t epoch{0};              // in which it has been heard
        std::uint64_t restarts{0};           // of the feed, which this line has followed
        bool went_back{false};               // to lower numbers, while the feed did not
        ConfirmedSession<Session> sessions;  // that it brought
        std::uint64_t apart{0};              // datagrams in a row of another session than the feed's
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
    void hold(std::size_t line, const Numbers& numbers, std::span<const std::byte> bytes, const Arrival& arrival,
              Target& target);
    template <class Target>
    void let_go(Target& target);
    template <class Target>
    void release_front(Target& target);
    /// A datagram that may start a session.
    template <class Target>
    [[nodiscard]] bool confirm(std::size_t line, const Numbers& numbers, std::span<const std::byte> bytes,
                               const Arrival& arrival, Target& target);
    template <class Target>
    void begin_session(const Numbers& numbers, const Arrival& arrival, Target& target);
    /// What the line held of another session was a stray datagram.
    void drop_stray(Line& line) noexcept {
        line.sessions.drop();
        line.counters.others.add();
        strays_.add();
    }
    [[nodiscard]] std::byte* bytes_of(std::size_t slot) noexcept { return bytes_.data() + slot * most_bytes_; }
    /// The slot of the datagram in place `index` of those that wait.
    [[nodiscard]] std::uint16_t& waiting(std::size_t index) noexcept {
        const auto at = front_ + index;
        return order_[at < order_.size() ? at : at - order_.size()];
    }
    [[nodiscard]] bool observe(Line& line, const Numbers& numbers) noexcept;
    template <class Target>
    void note_apart(Line& line, const Numbers& numbers, const Target& target) noexcept;

    std::size_t most_bytes_;
    bool from_first_;
    std::array<Line, kLines + 1> lines_;
    std::pmr::vector<std::byte> bytes_;
    std::pmr::vector<Slot> slots_;
    std::pmr::vector<std::uint16_t> order_;  // a ring: the slots that wait, by their first number
    std::pmr::vector<std::uint16_t> free_;   // the others; never longer than at first
    std::size_t front_{0};
    std::size_t waiting_{0};
    std::uint64_t since_{0};
    std::int64_t heard_utc_ns_{0};  // when any line brought the decoder's session
    std::uint64_t epoch_{0};        // grows with each session of the decoder
    std::optional<Session> left_;
    std::uint64_t old_run_{0};   // datagrams in a row that brought nothing
    std::uint64_t restarts_{0};  // of the sender, at a lower number
    core::Tally given_up_;
    core::Tally strays_;
};

}  // namespace millpond::feed

#include <millpond/feed/detail/line_arbiter_impl.hpp>
