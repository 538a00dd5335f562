#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::market {

/// The best bid and offer over the quotes of several channels of a ring.
///
/// A symbol of the composite has members: an instrument of each venue. A quote that is incomplete, halted or not firm
/// is left out, as is one that a Gap made incomplete, until a newer one arrives. A member without a quote counts as
/// incomplete until it is known that it has none: after the Clear of a session's end, or set_known. The composite's
/// quote is incomplete while a member is left out as incomplete or silent, because that member may have a better
/// price; it is halted if all other members are.
///
/// A Gap or Clear of a channel concerns all symbols: the composite publishes a Gap of its own channel, and `renew` then
/// publishes its quotes again, in slices.
///
/// A quote of the composite has the times of the event that caused it, and its ring number as `feed_sequence`. If the
/// venues differ from those of the instrument's quote before, a BestVenues precedes it.
///
/// Publish: a function object that publishes an event and returns its ring number.
///
/// Threads: one; counters may be read on any.
/// Memory:  8 bytes for each instrument and 144 + 48 x members bytes for each symbol, allocated and touched once in the
///          constructor.
class Composite {
public:
    struct Options {
        std::uint16_t channel{0};                                ///< Of the composite's events.
        std::uint64_t channels{0};                               ///< Bit c: quotes of channel c take part.
        std::uint32_t max_members{feed::kMaxCompositeChannels};  ///< Of a symbol; 1..64.
        std::uint32_t max_instruments{16'384};                   ///< Of the ring.
    };

    /// Throws std::invalid_argument for max_members out of range, and for a channel of the composite that takes part.
    explicit Composite(const Options& options, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// Adds a member to a symbol, which is created if it has none yet. symbol: the composite's instrument. member: the
    /// venue's instrument; kNoInstrument if it is expected but not known yet. home: the lowest channel of its venue,
    /// which stands for the venue until a quote arrives. Returns false, and counts, if the symbol has another member of
    /// this venue, the instrument is a member already, or an id is beyond max_instruments. `renew` then publishes the
    /// symbol again, with this time.
    bool add(feed::InstrumentId symbol, feed::InstrumentId member, std::uint16_t home, std::int64_t utc_ns) noexcept;

    /// Members of the channel without a quote since its newest Clear and Gap have none: its order books are complete,
    /// and their quotes were published. Holds until the next Clear or Gap.
    void set_known(std::uint16_t channel, std::int64_t utc_ns) noexcept;

    /// Applies a quote with its ring number, and publishes the composite if that changes. O(members).
    template <class Publish>
    void on(const feed::Quote& quote, std::uint64_t number, Publish&& publish) noexcept;
    /// Applies a Clear. O(members); of a whole channel O(1).
    template <class Publish>
    void on(const feed::Clear& clear, std::uint64_t number, Publish&& publish) noexcept;
    /// Applies a Gap. O(1).
    template <class Publish>
    void on(const feed::Gap& gap, std::uint64_t number, Publish&& publish) noexcept;

    /// Checks up to `max` symbols that a Gap, a Clear or a new member may have changed, and publishes them. Returns the
    /// number checked, 0 if none is left.
    template <class Publish>
    std::size_t renew(std::size_t max, Publish&& publish) noexcept;

    [[nodiscard]] std::uint16_t channel() const noexcept { return channel_; }
    [[nodiscard]] std::uint64_t channels() const noexcept { return channels_; }
    /// Symbols with a member.
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
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    static constexpr feed::Price kNoBid = std::numeric_limits<feed::Price>::min();
    static constexpr feed::Price kNoAsk = std::numeric_limits<feed::Price>::max();

    struct Place {
        std::uint32_t symbol{kNone};  // index in symbols
        std::uint32_t slot{kNone};    // of the member; kNone: the composite's own instrument
    };
    /// One side of a member's quote; without a size, the price is worse than all others.
    struct Side {
        feed::Price price;
        std::uint64_t size;
    };
    struct Member {
        std::uint64_t number{0};  // ring number of its newest quote or Clear; 0: none
        std::uint8_t channel{0};
        std::uint8_t home{0};
        LeftOut left_out{LeftOut::none};
        bool is_known{false};  // has an instrument
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
        std::uint32_t members{0};
        std::uint32_t generation{0};  // generation_ when the members were checked last
        bool venues_changed{true};    // since the last BestVenues
        bool must_publish{false};     // the published quote is incomplete because of a Gap of the composite
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
        bool is_known{false};    // members without a quote since `cleared` have none
    };

    [[nodiscard]] bool takes_part(std::uint16_t channel) const noexcept {
        return channel < feed::kMaxCompositeChannels && (channels_ >> channel & 1U) != 0;
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
    [[nodiscard]] LeftOut state_of(const Member& member, bool& is_void) const noexcept;
    void set_sides(std::size_t place, feed::Price bid, std::uint64_t bid_size, feed::Price ask,
                   std::uint64_t ask_size) noexcept {
        bids_[place] = bid_size != 0 ? Side{bid, bid_size} : Side{kNoBid, 0};
        asks_[place] = ask_size != 0 ? Side{ask, ask_size} : Side{kNoAsk, 0};
    }
    [[gnu::cold]] void leave_out(Symbol& symbol, Member& member, std::uint16_t channel, LeftOut reason) noexcept;
    void count(std::uint16_t channel, LeftOut reason, std::int64_t change) noexcept {
        auto& tally = left_out_[channel][static_cast<std::size_t>(reason)];
        tally.set(tally.read() + static_cast<std::uint64_t>(change));
    }
    [[nodiscard, gnu::always_inline]] Best best_of(const Symbol& symbol, std::size_t base) const noexcept;
    [[nodiscard]] std::uint64_t flags_of(const Symbol& symbol, const Best& best) const noexcept;
    template <class Publish>
    void publish_if_changed(Symbol& symbol, std::size_t base, const Cause& cause, Publish& publish) noexcept;
    void count_flags(std::uint64_t before, std::uint64_t now) noexcept;

    std::uint64_t channels_;
    std::uint32_t max_members_;
    std::uint16_t channel_;
    std::uint32_t generation_{1};
    std::uint64_t gapped_{0};  // ring number of the composite's newest Gap
    std::size_t pending_{0};   // symbols that renew has yet to check, from next_ on
    std::size_t next_{0};
    Cause cause_{};  // of the renewal
    std::array<Channel, feed::kMaxCompositeChannels> channel_state_{};
    std::pmr::vector<Place> places_;    // by instrument
    std::pmr::vector<Symbol> symbol_;   // never grows beyond its reserved size
    std::pmr::vector<Side> bids_;       // max_members_ of each symbol
    std::pmr::vector<Side> asks_;       // likewise
    std::pmr::vector<Member> members_;  // likewise
    core::Tally symbols_;
    core::Tally quotes_;
    core::Tally refused_;
    core::Tally locked_;
    core::Tally crossed_;
    std::array<std::array<core::Tally, kReasons>, feed::kMaxCompositeChannels> left_out_;
};

inline Composite::Composite(const Options& options, std::pmr::memory_resource* memory)
    : channels_(options.channels),
      max_members_(options.max_members),
      channel_(options.channel),
      places_(options.max_instruments, memory),
      symbol_(memory),
      bids_(memory),
      asks_(memory),
      members_(memory) {
    if (max_members_ == 0 || max_members_ > feed::kMaxCompositeChannels)
        throw std::invalid_argument("composite: max_members " + std::to_string(max_members_) + " is not in 1..64");
    if (takes_part(channel_))
        throw std::invalid_argument("composite: channel " + std::to_string(channel_) + " is its own");
    // Each symbol has an instrument of its own, and a member has one too unless it is only expected.
    const std::size_t symbols = options.max_instruments;
    symbol_.resize(symbols);
    symbol_.clear();
    bids_.assign(symbols * max_members_, Side{kNoBid, 0});
    asks_.assign(symbols * max_members_, Side{kNoAsk, 0});
    members_.resize(symbols * max_members_);
}

inline std::uint32_t Composite::create(feed::InstrumentId instrument) noexcept {
    const auto index = static_cast<std::uint32_t>(symbol_.size());
    auto& symbol = symbol_.emplace_back();  // never allocates: there are at most as many as instruments
    symbol.instrument = instrument;
    places_[instrument] = {index, kNone};
    symbols_.add();
    return index;
}

inline bool Composite::add(feed::InstrumentId symbol, feed::InstrumentId member, std::uint16_t home,
                           std::int64_t utc_ns) noexcept {
    const auto refuse = [this] {
        refused_.add();
        return false;
    };
    const bool is_known = member != feed::kNoInstrument;
    if (symbol >= places_.size() || (is_known && member >= places_.size()) || !takes_part(home)) return refuse();
    if (is_known && (places_[member].symbol != kNone || member == symbol)) return refuse();
    if (places_[symbol].symbol != kNone && places_[symbol].slot != kNone) return refuse();
    const auto index = places_[symbol].symbol != kNone ? places_[symbol].symbol : create(symbol);
    auto& entry = symbol_[index];
    const auto base = std::size_t{index} * max_members_;
    const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(base);
    const auto found = std::find_if(begin, begin + entry.members, [&](const auto& one) { return one.home == home; });
    const auto slot = static_cast<std::uint32_t>(found - begin);
    if (slot == entry.members) {
        if (slot == max_members_) return refuse();
        ++entry.members;
        found->home = found->channel = static_cast<std::uint8_t>(home);
        found->left_out = LeftOut::none;
        leave_out(entry, *found, home, LeftOut::incomplete);
    }
    if (is_known) {
        if (found->is_known) return refuse();
        found->is_known = true;
        places_[member] = {index, slot};
    }
    begin_renewal({0, 0, utc_ns, 0});
    return true;
}

inline void Composite::set_known(std::uint16_t channel, std::int64_t utc_ns) noexcept {
    if (!takes_part(channel) || channel_state_[channel].is_known) return;
    channel_state_[channel].is_known = true;
    begin_renewal({0, 0, utc_ns, 0});
}

inline void Composite::leave_out(Symbol& symbol, Member& member, std::uint16_t channel, LeftOut reason) noexcept {
    const auto bit_of = [](std::uint16_t of) { return std::uint64_t{1} << of; };
    if (member.left_out != LeftOut::none) {
        symbol.left_out[static_cast<std::size_t>(member.left_out)] &= ~bit_of(member.channel);
        count(member.channel, member.left_out, -1);
    }
    member.left_out = reason;
    member.channel = static_cast<std::uint8_t>(channel);
    if (reason != LeftOut::none) {
        symbol.left_out[static_cast<std::size_t>(reason)] |= bit_of(channel);
        count(channel, reason, 1);
    }
    symbol.venues_changed = true;
}

/// is_void: set if the member has no quote that counts.
inline Composite::LeftOut Composite::state_of(const Member& member, bool& is_void) const noexcept {
    const auto& channel = channel_state_[member.channel];
    const bool has_quote = member.number > channel.cleared;
    is_void = !has_quote || member.number < channel.gapped;
    if (!is_void) return member.left_out;
    if (!has_quote && channel.is_known) return LeftOut::none;
    const bool is_silent = channel.was_silent && channel.gapped > channel.cleared;
    return is_silent ? LeftOut::silent : LeftOut::incomplete;
}

inline void Composite::check(Symbol& symbol, std::size_t base) noexcept {
    symbol.generation = generation_;
    symbol.must_publish = symbol.number != 0 && symbol.number < gapped_;
    for (std::size_t place = base; place < base + symbol.members; ++place) {
        auto& member = members_[place];
        bool is_void = false;
        const auto state = state_of(member, is_void);
        if (is_void) set_sides(place, 0, 0, 0, 0);
        if (state != member.left_out) leave_out(symbol, member, member.channel, state);
    }
}

inline Composite::Best Composite::best_of(const Symbol& symbol, std::size_t base) const noexcept {
    feed::Price bid = kNoBid;
    feed::Price ask = kNoAsk;
    Best best;
    // Without branches, because which member is best is hard to predict.
    for (std::size_t place = base; place < base + symbol.members; ++place) {
        const auto bit = std::uint64_t{1} << members_[place].channel;
        const auto& of_bid = bids_[place];
        const auto keeps_bid = of_bid.price > bid ? std::uint64_t{0} : ~std::uint64_t{0};
        const auto takes_bid = of_bid.price >= bid ? ~std::uint64_t{0} : std::uint64_t{0};
        best.bid_size = (best.bid_size & keeps_bid) + (of_bid.size & takes_bid);
        best.bid_channels = (best.bid_channels & keeps_bid) | (bit & takes_bid);
        bid = std::max(bid, of_bid.price);
        const auto& of_ask = asks_[place];
        const auto keeps_ask = of_ask.price < ask ? std::uint64_t{0} : ~std::uint64_t{0};
        const auto takes_ask = of_ask.price <= ask ? ~std::uint64_t{0} : std::uint64_t{0};
        best.ask_size = (best.ask_size & keeps_ask) + (of_ask.size & takes_ask);
        best.ask_channels = (best.ask_channels & keeps_ask) | (bit & takes_ask);
        ask = std::min(ask, of_ask.price);
    }
    // A side without size has price 0, and members without one are not in it.
    best.bid_price = best.bid_size != 0 ? bid : 0;
    best.ask_price = best.ask_size != 0 ? ask : 0;
    if (best.bid_size == 0) best.bid_channels = 0;
    if (best.ask_size == 0) best.ask_channels = 0;
    best.flags = flags_of(symbol, best);
    return best;
}

inline std::uint64_t Composite::flags_of(const Symbol& symbol, const Best& best) const noexcept {
    std::uint64_t flags = 0;
    if (best.bid_size != 0 && best.ask_size != 0 && best.bid_price >= best.ask_price) [[unlikely]]
        flags = best.bid_price == best.ask_price ? feed::kLocked : feed::kCrossed;
    const auto of = [&](LeftOut reason) { return symbol.left_out[static_cast<std::size_t>(reason)]; };
    const auto unknown = of(LeftOut::incomplete) | of(LeftOut::silent);
    if (unknown != 0) flags |= feed::kIncomplete;
    if (of(LeftOut::halted) != 0) [[unlikely]] {
        const auto halted = of(LeftOut::halted) | unknown;
        if (static_cast<std::uint32_t>(std::popcount(halted)) == symbol.members) flags |= feed::kHalted;
    }
    return flags;
}

inline void Composite::count_flags(std::uint64_t before, std::uint64_t now) noexcept {
    const auto update = [&](core::Tally& tally, std::uint64_t flag) {
        const auto had = (before & flag) != 0 ? std::uint64_t{1} : 0;
        const auto has = (now & flag) != 0 ? std::uint64_t{1} : 0;
        tally.set(tally.read() + has - had);
    };
    update(locked_, feed::kLocked);
    update(crossed_, feed::kCrossed);
}

template <class Publish>
void Composite::publish_if_changed(Symbol& symbol, std::size_t base, const Cause& cause, Publish& publish) noexcept {
    const auto best = best_of(symbol, base);
    if (best == symbol.best && !symbol.venues_changed && !symbol.must_publish) return;
    // Nothing is known of a symbol before its first quote.
    if (symbol.number == 0 && best.bid_size == 0 && best.ask_size == 0) return;
    if (symbol.venues_changed || best.bid_channels != symbol.best.bid_channels ||
        best.ask_channels != symbol.best.ask_channels) {
        feed::BestVenues venues;
        venues.instrument = symbol.instrument;
        venues.channel = channel_;
        venues.bid_channels = best.bid_channels;
        venues.ask_channels = best.ask_channels;
        venues.incomplete_channels = symbol.left_out[static_cast<std::size_t>(LeftOut::incomplete)];
        venues.silent_channels = symbol.left_out[static_cast<std::size_t>(LeftOut::silent)];
        venues.halted_channels = symbol.left_out[static_cast<std::size_t>(LeftOut::halted)];
        venues.not_firm_channels = symbol.left_out[static_cast<std::size_t>(LeftOut::not_firm)];
        venues.exchange_utc_ns = cause.exchange_utc_ns;
        venues.receive_utc_ns = cause.receive_utc_ns;
        venues.receive_ticks = cause.receive_ticks;
        venues.feed_sequence = cause.number;
        publish(venues);
        symbol.venues_changed = false;
    }
    feed::Quote quote;
    quote.instrument = symbol.instrument;
    quote.channel = channel_;
    quote.flags = static_cast<std::uint16_t>(best.flags);
    quote.bid_price = best.bid_price;
    quote.ask_price = best.ask_price;
    quote.bid_size = best.bid_size;
    quote.ask_size = best.ask_size;
    quote.exchange_utc_ns = cause.exchange_utc_ns;
    quote.receive_utc_ns = cause.receive_utc_ns;
    quote.receive_ticks = cause.receive_ticks;
    quote.feed_sequence = cause.number;
    symbol.number = publish(quote);
    symbol.must_publish = false;
    if (((best.flags ^ symbol.best.flags) & (feed::kLocked | feed::kCrossed)) != 0) [[unlikely]]
        count_flags(symbol.best.flags, best.flags);
    symbol.best = best;
    quotes_.add();
}

template <class Publish>
void Composite::on(const feed::Quote& quote, std::uint64_t number, Publish&& publish) noexcept {
    if (quote.instrument >= places_.size() || !takes_part(quote.channel)) return;
    const Cause cause{number, quote.exchange_utc_ns, quote.receive_utc_ns, quote.receive_ticks};
    const auto reason = reason_of(quote.flags);
    const auto [index, slot] = places_[quote.instrument];
    if (slot == kNone) return;
    auto& symbol = symbol_[index];
    const auto base = std::size_t{index} * max_members_;
    if (symbol.generation != generation_) [[unlikely]]
        check(symbol, base);
    auto& member = members_[base + slot];
    member.number = number;
    if (reason != member.left_out || quote.channel != member.channel) [[unlikely]]
        leave_out(symbol, member, quote.channel, reason);
    const auto counts = reason == LeftOut::none;
    set_sides(base + slot, quote.bid_price, counts ? quote.bid_size : 0, quote.ask_price, counts ? quote.ask_size : 0);
    publish_if_changed(symbol, base, cause, publish);
}

template <class Publish>
void Composite::lose(const Cause& cause, Publish& publish) noexcept {
    if (symbol_.empty()) return;
    feed::Gap gap;
    gap.channel = channel_;
    gap.reason = feed::GapReason::venue;
    gap.receive_utc_ns = cause.receive_utc_ns;
    gapped_ = publish(gap);
    begin_renewal(cause);
}

template <class Publish>
void Composite::on(const feed::Gap& gap, std::uint64_t number, Publish&& publish) noexcept {
    if (!takes_part(gap.channel)) return;
    auto& channel = channel_state_[gap.channel];
    channel.gapped = number;
    channel.was_silent = gap.reason == feed::GapReason::silence;
    channel.is_known = false;
    lose({number, 0, gap.receive_utc_ns, 0}, publish);
}

template <class Publish>
void Composite::on(const feed::Clear& clear, std::uint64_t number, Publish&& publish) noexcept {
    if (!takes_part(clear.channel)) return;
    const Cause cause{number, 0, clear.receive_utc_ns, 0};
    const bool is_complete = (clear.flags & feed::kIncomplete) == 0;
    if (clear.instrument == feed::kNoInstrument) {
        auto& channel = channel_state_[clear.channel];
        channel.cleared = number;
        channel.is_known = clear.reason == feed::ClearReason::end_of_session;
        return lose(cause, publish);
    }
    if (clear.instrument >= places_.size()) return;
    const auto [index, slot] = places_[clear.instrument];
    if (slot == kNone) return;
    auto& symbol = symbol_[index];
    const auto base = std::size_t{index} * max_members_;
    if (symbol.generation != generation_) check(symbol, base);
    auto& member = members_[base + slot];
    member.number = number;
    leave_out(symbol, member, clear.channel, is_complete ? LeftOut::none : LeftOut::incomplete);
    set_sides(base + slot, 0, 0, 0, 0);
    publish_if_changed(symbol, base, cause, publish);
}

template <class Publish>
std::size_t Composite::renew(std::size_t max, Publish&& publish) noexcept {
    const auto count = std::min(max, pending_);
    for (std::size_t i = 0; i < count; ++i) {
        next_ = next_ + 1 < symbol_.size() ? next_ + 1 : 0;
        auto& symbol = symbol_[next_];
        const auto base = next_ * max_members_;
        if (symbol.generation == generation_) continue;
        check(symbol, base);
        publish_if_changed(symbol, base, cause_, publish);
    }
    pending_ -= count;
    return count;
}

}  // namespace millpond::market
