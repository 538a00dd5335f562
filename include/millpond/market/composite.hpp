#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/level_sums.hpp>
#include <millpond/market/quote_board.hpp>

namespace millpond::market {

/// The best bid and offer over the quotes of several channels of a ring.
///
/// A symbol of the composite has a member for each venue, with the venue's instrument if it has one. A quote that is
/// incomplete, halted or not firm is left out, as is one that a Gap made incomplete, until a newer one arrives. A
/// member without a quote counts as incomplete, also if its venue was never heard, unless its venue is known to have
/// none: the channels have ended their sessions, or set_known. The composite's quote is incomplete while a member is
/// left out as incomplete or silent, because that member may have a better price; it is halted if the symbol is
/// wherever it may trade.
///
/// A Gap, Clear or end of a channel concerns all symbols: the composite publishes a Gap of its own channel, and `renew`
/// then publishes its quotes again, in slices. Quotes after the end of a session do not count.
///
/// A quote of the composite has the times of the event that caused it, and its ring number as `feed_sequence`. If the
/// venues differ from those of the instrument's quote before, a BestVenues precedes it.
///
/// With `depth`, the composite also has levels: sums of equal prices over the venues that take part, of which the best
/// `depth` of each side are published after the last event of the venue's group, in a group with the quote. They are
/// incomplete while the quote is, and while the board's levels of a venue that takes part are.
///
/// Publish: a function object that publishes an event and returns its ring number.
///
/// Threads: one; counters may be read on any.
/// Memory:  200 + 48 x venues bytes for each instrument of the ring, allocated and touched once in the constructor.
class Composite {
public:
    struct Options {
        std::uint16_t channel{0};               ///< Of the composite's events.
        std::vector<std::uint64_t> venues{};    ///< Channels of each venue, 1 to 64 of them; bit c is channel c.
        std::uint32_t max_instruments{16'384};  ///< Of the ring.
        /// Levels of a side, 0..10. The composite's channel sends as many (RingWriter::set_depth), and those of the
        /// venues as many or more, but not all.
        std::uint32_t depth{0};
        const QuoteBoard* board{nullptr};  ///< Of the ring; needed for levels, and outlives the composite.
    };

    /// Throws std::invalid_argument for no venue or more than 64, a venue without a channel, a channel of two venues or
    /// of the composite, more than 10 levels, or levels without a board.
    explicit Composite(const Options& options, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// Makes an instrument the member of a venue, an index in Options::venues. symbol: the composite's instrument,
    /// which becomes a symbol if it is none. Returns false, and counts, if the symbol has another member of this venue,
    /// the instrument is a member already, or an id is beyond max_instruments. `renew` then publishes the symbol again,
    /// with this time.
    bool add(feed::InstrumentId symbol, feed::InstrumentId member, std::size_t venue, std::int64_t utc_ns) noexcept;

    /// Members of the channel without a quote since its newest Clear have none: nothing of its session was lost, or has
    /// been repaired since. Holds until the next Clear or Gap. repaired: a loss that a Gap reported is; otherwise the
    /// call has no effect after one.
    void set_known(std::uint16_t channel, bool repaired, std::int64_t utc_ns) noexcept;

    /// Applies a quote with its ring number, and publishes the composite if that changes. O(1) if the quote was and is
    /// worse than the best, else O(venues).
    template <class Publish>
    void on(const feed::Quote& quote, std::uint64_t number, Publish&& publish) noexcept;
    /// Applies a level or a trade, after which the group of the venue may end. O(venues x depth) if it does.
    template <class Publish>
    void on(const feed::Level& level, std::uint64_t number, Publish&& publish) noexcept {
        follow_group(level, number, publish);
    }
    template <class Publish>
    void on(const feed::Trade& trade, std::uint64_t number, Publish&& publish) noexcept {
        follow_group(trade, number, publish);
    }
    /// Applies a Clear. O(venues); of a whole channel O(1).
    template <class Publish>
    void on(const feed::Clear& clear, std::uint64_t number, Publish&& publish) noexcept;
    /// Applies a Gap. O(1).
    template <class Publish>
    void on(const feed::Gap& gap, std::uint64_t number, Publish&& publish) noexcept;

    /// Applies a channel's end or beginning of a session; ignores other states. O(1).
    template <class Publish>
    void on(const feed::Status& status, std::uint64_t number, Publish&& publish) noexcept;

    /// Checks up to `max` symbols that a Gap, a Clear or a new member may have changed, and publishes them. Returns the
    /// number checked, 0 if none is left.
    template <class Publish>
    std::size_t renew(std::size_t max, Publish&& publish) noexcept;

    [[nodiscard]] std::uint16_t channel() const noexcept { return channel_; }
    /// True if quotes of the channel take part.
    [[nodiscard]] bool takes_part(std::uint16_t channel) const noexcept {
        return channel < feed::kMaxCompositeChannels && (channels_ >> channel & 1U) != 0;
    }
    /// The most events that `renew` publishes of a symbol.
    [[nodiscard]] std::size_t max_events() const noexcept { return 2 + (depth_ == 0 ? 0 : 1 + 2 * depth_); }
    /// Symbols that have an instrument of a venue.
    [[nodiscard]] const core::Tally& symbols() const noexcept { return symbols_; }
    /// Quotes published.
    [[nodiscard]] const core::Tally& quotes() const noexcept { return quotes_; }
    /// Members that were refused.
    [[nodiscard]] const core::Tally& refused() const noexcept { return refused_; }
    /// Symbols that are locked or crossed now.
    [[nodiscard]] const core::Tally& locked() const noexcept { return locked_; }
    [[nodiscard]] const core::Tally& crossed() const noexcept { return crossed_; }

    /// Why a member is left out.
    enum class LeftOut : std::uint8_t { none, incomplete, silent, halted, not_firm };
    static constexpr std::size_t kReasons = 5;
    /// Symbols in which the channel is left out now for that reason.
    [[nodiscard]] const core::Tally& left_out(std::uint16_t channel, LeftOut reason) const noexcept {
        return left_out_[channel][static_cast<std::size_t>(reason)];
    }

private:
    static constexpr std::size_t kMaxVenues = feed::kMaxCompositeChannels;
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    static constexpr feed::Price kNoBid = std::numeric_limits<feed::Price>::min();
    static constexpr feed::Price kNoAsk = std::numeric_limits<feed::Price>::max();

    struct Place {
        std::uint32_t symbol{kNone};  // index in symbols
        std::uint32_t venue{kNone};   // of the member; kNone: the composite's own instrument
    };
    /// One side of a member's quote; without a size, the price is worse than all others.
    struct Side {
        feed::Price price;
        std::uint64_t size;
        friend bool operator==(const Side&, const Side&) = default;
    };
    struct Member {
        std::uint64_t number{0};          // ring number of its newest quote or Clear; 0: none
        std::uint8_t channel{0};          // of its quote; without one, the channel that is not known
        LeftOut left_out{LeftOut::none};  // that channel is left out
        feed::InstrumentId instrument{feed::kNoInstrument};
    };
    /// What was published last.
    struct Best {
        feed::Price bid_price{0};
        feed::Price ask_price{0};
        std::uint64_t bid_size{0};
        std::uint64_t ask_size{0};
        std::uint64_t bid_channels{0};
        std::uint64_t ask_channels{0};
        std::uint64_t flags{0};
        friend bool operator==(const Best&, const Best&) = default;
    };
    struct alignas(64) Symbol {
        Best best{};
        std::uint64_t number{0};                         // of the quote that was published last; 0: none
        std::array<std::uint64_t, kReasons> left_out{};  // bits of the channels, by reason
        feed::InstrumentId instrument{feed::kNoInstrument};
        std::uint32_t generation{0};  // generation_ when the members were checked last
        bool venues_changed{true};    // since the last BestVenues
        bool must_publish{false};     // what was published is incomplete because of a Gap of the composite
        bool levels_changed{false};   // of a member, since they were published
        bool has_levels{false};       // those that were published are complete
    };
    /// What caused a change.
    struct Cause {
        std::uint64_t number{0};
        std::int64_t exchange_utc_ns{0};
        std::int64_t receive_utc_ns{0};
        std::uint64_t receive_ticks{0};
    };
    /// What a channel has lost.
    struct Channel {
        std::uint64_t cleared{0};
        std::uint64_t gapped{0};
        bool was_silent{false};  // the newest Gap is a silence
        bool has_lost{false};    // more than the time of a silence, since `cleared`
    };
    /// Whether a member counts, and the channel that it is left out for.
    struct State {
        LeftOut left_out;
        std::uint8_t channel;
        bool has_quote;
        bool counts;  // its quote is not older than a loss
    };

    [[nodiscard]] bool has_channel(std::size_t venue, std::uint16_t channel) const noexcept {
        return channel < feed::kMaxCompositeChannels && (venues_[venue] >> channel & 1U) != 0;
    }
    [[nodiscard]] static LeftOut reason_of(std::uint16_t flags) noexcept {
        if ((flags & feed::kIncomplete) != 0) return LeftOut::incomplete;
        if ((flags & feed::kHalted) != 0) return LeftOut::halted;
        return (flags & feed::kNotFirm) != 0 ? LeftOut::not_firm : LeftOut::none;
    }
    [[nodiscard]] std::uint32_t create(feed::InstrumentId instrument) noexcept;
    /// Symbols must be checked before they are published again.
    void begin_renewal(const Cause& cause) noexcept {
        ++generation_;
        cause_ = cause;
        pending_ = symbol_.size();
    }
    /// Makes all quotes of the composite incomplete, until they are published again.
    template <class Publish>
    void lose(const Cause& cause, Publish& publish) noexcept;
    /// Applies what the channels have lost since the members were checked.
    [[gnu::cold]] void check(Symbol& symbol, std::size_t base) noexcept;
    [[nodiscard]] State state_of(const Member& member, std::size_t venue) const noexcept;
    [[nodiscard]] std::size_t base_of(std::size_t symbol) const noexcept { return symbol * venues_.size(); }
    void mark_known(std::uint16_t channel, bool is_known) noexcept {
        const auto bit = std::uint64_t{1} << channel;
        known_ = is_known ? known_ | bit : known_ & ~bit;
    }
    void empty(std::size_t place) noexcept {
        bids_[place] = {kNoBid, 0};
        asks_[place] = {kNoAsk, 0};
    }
    [[gnu::cold]] void leave_out(Symbol& symbol, Member& member, std::uint16_t channel, LeftOut reason) noexcept;
    void count(std::uint16_t channel, LeftOut reason, std::int64_t change) noexcept {
        auto& tally = left_out_[channel][static_cast<std::size_t>(reason)];
        tally.set(tally.read() + static_cast<std::uint64_t>(change));
    }
    [[nodiscard, gnu::always_inline]] Best best_of(const Symbol& symbol, std::size_t base) const noexcept;
    [[nodiscard]] std::uint64_t flags_of(const Symbol& symbol, std::size_t base, const Best& best) const noexcept;
    [[gnu::cold]] [[nodiscard]] bool is_halted(std::size_t base) const noexcept;
    template <class Event, class Publish>
    void follow_group(const Event& event, std::uint64_t number, Publish& publish) noexcept;
    /// Adds up the levels of the members. Returns false if those of one are incomplete.
    [[nodiscard]] bool sum_levels(std::size_t base, LevelSums& bids, LevelSums& asks) const noexcept;
    /// Publishes the levels that changed; all if readers cannot know the others. has_quote: it follows in the group.
    template <class Publish>
    void publish_levels(Symbol& symbol, std::size_t base, const feed::Quote& quote, bool has_quote,
                        Publish& publish) noexcept;
    template <class Publish>
    void publish_if_changed(Symbol& symbol, std::size_t base, const Cause& cause, Publish& publish) noexcept;
    void count_flags(std::uint64_t before, std::uint64_t now) noexcept;

    std::vector<std::uint64_t> venues_;  // channels of each
    std::uint64_t channels_{0};
    std::uint64_t known_{0};  // channels whose members without a quote have none
    std::uint64_t ended_{0};  // channels whose session has ended by its status
    std::uint16_t channel_;
    std::uint32_t depth_;
    const QuoteBoard* board_;
    std::uint32_t generation_{1};
    std::uint64_t gapped_{0};  // ring number of the composite's newest Gap
    std::size_t pending_{0};   // symbols that renew has yet to check, from next_ on
    std::size_t next_{0};
    Cause cause_{};  // of the renewal
    std::array<Channel, feed::kMaxCompositeChannels> channel_state_{};
    std::pmr::vector<Place> places_;    // by instrument
    std::pmr::vector<Symbol> symbol_;   // never grows beyond its reserved size
    std::pmr::vector<Side> bids_;       // one for each venue of each symbol
    std::pmr::vector<Side> asks_;       // likewise
    std::pmr::vector<Member> members_;  // likewise
    core::Tally symbols_;
    core::Tally quotes_;
    core::Tally refused_;
    core::Tally locked_;
    core::Tally crossed_;
    std::array<std::array<core::Tally, kReasons>, feed::kMaxCompositeChannels> left_out_;
};

}  // namespace millpond::market

#include <millpond/market/detail/composite_impl.hpp>
