#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/confirmed_session.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/name_text.hpp>
#include <millpond/feed/quotes_layout.hpp>
#include <millpond/feed/sequence_tracker.hpp>
#include <millpond/feed/sequenced_datagram.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::feed {

/// Reads `quotes` datagrams (quotes_layout.hpp) of one channel and makes a Quote of each quote in them. With
/// Options::depth it also makes a Level of each level, for handlers that have a function for it; an entry is then a
/// group: levels, quote; kLast marks the last one.
///
/// A new session, a new generation and a restart of the sender first make a Clear; missing numbers and an entry whose
/// names, prices or sizes cannot be read make a Gap. Late and duplicated entries and datagrams of another channel are
/// counted and not applied; so are repeated entries, unless something was lost since the last one of the instrument.
/// The session changes once the new one is confirmed (ConfirmedSession); it begins with message 1.
///
/// Threads: one; counters() and sequence() may be read on any.
/// Memory:  a ConfirmedSession and 8 bytes for each instrument of the table, allocated in the constructor.
class QuotesDecoder {
public:
    struct Options {
        std::optional<std::uint16_t> wire_channel{};  ///< Channel to accept; without one, that of the first datagram.
        /// Levels of a side, up to kMaxDepth: datagrams with another depth are refused. 0: levels are not read.
        std::uint32_t depth{0};
    };

    struct Session {
        std::uint64_t number{0};
        std::uint16_t channel{0};
        friend bool operator==(const Session&, const Session&) = default;
    };

    QuotesDecoder(InstrumentTable& instruments, const Options& options,
                  std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : instruments_(&instruments),
          wire_channel_(options.wire_channel),
          depth_(options.depth),
          sessions_(memory),
          repeated_in_(instruments.capacity(), 0, memory) {}

    template <EventHandler Handler>
    DecodeResult decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler);

    /// Begins a session that a LineArbiter has detected: discards all state; its message 1 is next.
    template <EventHandler Handler>
    void begin_session(const Session& session, std::uint64_t, const Arrival& arrival, Handler& handler) {
        clear(ClearReason::new_session, arrival, handler);
        sessions_.enter(session.number);
        tracker_.start(1);
        generation_.reset();
        joined_at_.set(0);
    }

    /// Restarts at `first` after a LineArbiter has detected a restart of the sender: discards all state.
    template <EventHandler Handler>
    void restart_at(std::uint64_t first, const Arrival& arrival, Handler& handler) {
        clear(ClearReason::new_session, arrival, handler);
        tracker_.restart(first);
        restarted_at(first);
    }

    /// Applies the next repeated entry of each instrument: something has marked the channel as incomplete.
    void expect_repeats() noexcept { ++losses_; }

    /// False for another channel of the group.
    [[nodiscard]] bool accepts(const Session& session) const noexcept {
        return !wire_channel_ || session.channel == *wire_channel_;
    }
    /// True if the whole datagram can be read.
    [[nodiscard]] static bool is_whole(std::span<const std::byte> datagram) noexcept { return !check(datagram).error; }

    [[nodiscard]] const DecodeCounters& counters() const noexcept { return counters_; }
    /// Counts datagrams of another session that was not confirmed; readable on any thread.
    [[nodiscard]] const core::Tally& strays() const noexcept { return sessions_.strays(); }
    [[nodiscard]] const SequenceTracker& sequence() const noexcept { return tracker_; }
    /// First number that the decoder saw of a session that it joined after its start; otherwise 0. Earlier entries are
    /// unknown until the sender voids them or has repeated all.
    [[nodiscard]] const core::Tally& joined_at() const noexcept { return joined_at_; }
    /// Session of the last applied datagram.
    [[nodiscard]] Session session() const noexcept { return {sessions_.session(), wire_channel_.value_or(0)}; }
    /// Number of datagrams of other sessions and channels, which were not applied.
    [[nodiscard]] std::uint64_t foreign() const noexcept { return sessions_.not_applied() + other_channels_.read(); }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        counters_.visit(visitor);
        tracker_.counters().visit(visitor);
        visitor("session_strays", "Datagrams of another session that was not confirmed.", sessions_.strays());
        visitor("other_channels", "Datagrams of other channels of the group.", other_channels_);
    }

private:
    using Sessions = ConfirmedSession<std::uint64_t>;
    struct Header {
        std::uint64_t session;
        std::uint64_t sequence;
        std::uint32_t generation;
        std::uint32_t depth;
        std::uint16_t channel;
        std::uint16_t count;
    };
    /// A datagram whose lengths have been checked. `error` is set if it is invalid; its first `entries` entries are
    /// complete even then.
    struct Checked {
        Header header{};
        std::uint32_t entries{0};
        std::size_t end{0};  ///< Offset after the last complete entry; 0 if not even the header could be read.
        std::optional<DecodeError> error{};
    };

    [[nodiscard]] static Checked check(std::span<const std::byte> datagram) noexcept;
    [[nodiscard]] static std::optional<DecodeError> check_header(std::span<const std::byte> datagram,
                                                                 Header& header) noexcept;
    [[nodiscard]] static std::optional<DecodeError> check_entry(std::span<const std::byte> datagram,
                                                                std::size_t at) noexcept;
    [[nodiscard]] static std::size_t levels_at(const std::byte* entry) noexcept {
        namespace at = quotes_layout;
        return at::kNamesAt + static_cast<std::size_t>(entry[at::kSymbolLengthAt]) +
               static_cast<std::size_t>(entry[at::kVenueLengthAt]);
    }
    [[nodiscard]] static std::size_t levels_of(const std::byte* entry) noexcept {
        namespace at = quotes_layout;
        return static_cast<std::size_t>(entry[at::kBidLevelsAt]) + static_cast<std::size_t>(entry[at::kAskLevelsAt]);
    }
    [[nodiscard]] static bool has_levels(const std::byte* entry) noexcept {
        namespace at = quotes_layout;
        return levels_of(entry) != 0 || (core::load_le<std::uint16_t>(entry + at::kFlagsAt) & at::kAllLevels) != 0;
    }
    /// True unless the entry is a quote and nothing else.
    [[nodiscard]] static bool is_more_than_quote(const std::byte* entry) noexcept {
        namespace at = quotes_layout;
        constexpr std::uint64_t kFlags = at::kNoQuote | at::kLevelsIncomplete | at::kAllLevels | at::kRepeated;
        constexpr std::uint64_t kCounts = 0xFFFF;
        return (core::load_le<std::uint64_t>(entry) & (kFlags << 8 * at::kFlagsAt | kCounts << 8 * at::kBidLevelsAt)) !=
               0;
    }
    [[nodiscard]] static std::size_t entry_bytes(const std::byte* entry) noexcept {
        namespace at = quotes_layout;
        auto bytes = levels_at(entry);
        if (core::load_le<std::uint16_t>(entry + at::kBidLevelsAt) != 0) [[unlikely]]
            bytes += levels_of(entry) * at::kLevelBytes;
        return bytes;
    }
    /// True if the datagram is one of the channel, with another depth than the expected one.
    [[nodiscard]] bool has_other_depth(const Checked& checked) const noexcept {
        return depth_ != 0 && checked.end != 0 && checked.header.depth != depth_ &&
               (!wire_channel_ || checked.header.channel == *wire_channel_);
    }
    /// False if the size is not 0 and the price is none.
    [[nodiscard]] static bool has_price(const std::byte* price, const std::byte* size) noexcept {
        return is_price(core::load_le<Price>(price)) || core::load_le<std::uint64_t>(size) == 0;
    }
    /// Applies a datagram of the current session.
    template <class Handler>
    void apply(std::span<const std::byte> datagram, const Checked& checked, const Arrival& arrival, Handler& handler);
    /// Handles a datagram of another session. If that session is confirmed now, applies the datagram and the one held
    /// for it. Returns the number of entries read.
    template <class Handler>
    [[nodiscard]] std::uint32_t apply_other(const Sessions::Datagram& datagram, const Checked& checked,
                                            Handler& handler);
    /// Follows generation and sequence numbers. Returns how many of the first `whole` entries must not be applied.
    template <class Handler>
    std::uint64_t follow(const Header& header, std::uint64_t whole, const Arrival& arrival, Handler& handler);
    /// Empties the channel. Its books stay incomplete until they have all levels again.
    template <class Handler>
    void clear(ClearReason reason, const Arrival& arrival, Handler& handler);
    /// Entries before `first` are unknown.
    void restarted_at(std::uint64_t first) noexcept {
        generation_.reset();
        joined_at_.set(first == 1 ? 0 : first);
    }
    /// Reports a loss.
    template <class Handler>
    void lose(const Gap& gap, Handler& handler) {
        ++losses_;
        emit(counters_, handler, gap);
    }
    /// Counts an entry that cannot be read and reports it as a gap.
    template <class Handler>
    void reject(std::uint64_t sequence, const Arrival& arrival, Handler& handler) {
        counters_.rejected.add();
        lose(make_gap(arrival, sequence, sequence, GapReason::rejected), handler);
    }

    /// An entry whose lengths have been checked.
    struct Entry {
        const std::byte* bytes;
        std::uint64_t sequence;
        const Arrival& arrival;
    };
    template <class Handler>
    void apply_entry(const Entry& entry, Handler& handler);
    /// Applies the levels of an entry that is more than a quote. Returns true if its quote follows.
    template <class Handler>
    [[nodiscard, gnu::noinline]] bool apply_levels(const Entry& entry, InstrumentId id, Handler& handler);
    template <class Handler>
    void emit_levels(const Entry& entry, InstrumentId id, Handler& handler);
    /// False if the levels are invalid, or if there is neither a quote nor a level.
    [[nodiscard]] static bool has_valid_levels(const std::byte* entry) noexcept;
    template <class Handler>
    [[nodiscard]] bool sends_levels() const noexcept {
        return HandlerOf<Handler, Level> && depth_ != 0;
    }

    InstrumentTable* instruments_;
    std::optional<std::uint16_t> wire_channel_;
    std::uint32_t depth_;
    Sessions sessions_;
    std::optional<std::uint32_t> generation_;
    SequenceTracker tracker_;
    DecodeCounters counters_;
    core::Tally other_channels_;
    core::Tally joined_at_;
    std::optional<std::uint64_t> cycle_losses_;    // losses_ at the start of the sender's cycle of repeated entries
    std::uint64_t losses_{0};                      // late joins, Gaps and Clears so far
    std::pmr::vector<std::uint64_t> repeated_in_;  // losses_ at the last repeated entry of each instrument
};

template <>
struct Sequencing<QuotesDecoder> {
    using Session = QuotesDecoder::Session;

    [[nodiscard]] static std::optional<SequencedDatagram<Session>> read(std::span<const std::byte> bytes) noexcept {
        namespace at = quotes_layout;
        const auto* const data = bytes.data();
        if (bytes.size() < at::kHeaderBytes || core::load_le<std::uint32_t>(data + at::kMagicAt) != at::kMagic)
            return std::nullopt;
        const SequencedDatagram<Session> numbers{
            .session = {.number = core::load_le<std::uint64_t>(data + at::kSessionAt),
                        .channel = core::load_le<std::uint16_t>(data + at::kChannelAt)},
            .first = core::load_le<std::uint64_t>(data + at::kSequenceAt),
            .count = core::load_le<std::uint16_t>(data + at::kCountAt)};
        const bool is_possible = numbers.first != 0 && numbers.first <= at::kMaxSequence;
        if (!is_possible || numbers.count > at::kMaxEntries) return std::nullopt;
        return numbers;
    }
    [[nodiscard]] static bool is_whole(std::span<const std::byte> bytes) noexcept {
        return QuotesDecoder::is_whole(bytes);
    }
    [[nodiscard]] static SessionName name_of(const Session& session) noexcept { return number_name(session.number); }
};

}  // namespace millpond::feed

#include <millpond/feed/detail/quotes_decoder_impl.hpp>
