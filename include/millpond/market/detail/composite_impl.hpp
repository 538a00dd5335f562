#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <millpond/market/composite.hpp>

namespace millpond::market {

inline Composite::Composite(const Options& options, std::pmr::memory_resource* memory)
    : venues_(options.venues),
      channel_(options.channel),
      depth_(options.depth),
      board_(options.board),
      places_(options.max_instruments, memory),
      symbol_(memory),
      bids_(memory),
      asks_(memory),
      members_(memory) {
    if (venues_.empty() || venues_.size() > kMaxVenues)
        throw std::invalid_argument("composite: " + std::to_string(venues_.size()) + " venues are not in 1..64");
    for (const auto channels : venues_) {
        if (channels == 0) throw std::invalid_argument("composite: a venue has no channel");
        if ((channels_ & channels) != 0) throw std::invalid_argument("composite: two venues have the same channel");
        channels_ |= channels;
    }
    if (takes_part(channel_))
        throw std::invalid_argument("composite: channel " + std::to_string(channel_) + " is its own");
    if (depth_ > kMaxCompositeDepth)
        throw std::invalid_argument("composite: depth " + std::to_string(depth_) + " is not in 0..10");
    if (depth_ != 0 && board_ == nullptr) throw std::invalid_argument("composite: levels without a board");
    // Each symbol has an instrument of its own.
    const std::size_t symbols = options.max_instruments;
    symbol_.resize(symbols);
    symbol_.clear();
    bids_.assign(base_of(symbols), Side{kNoBid, 0});
    asks_.assign(base_of(symbols), Side{kNoAsk, 0});
    members_.resize(base_of(symbols));
}

inline std::uint32_t Composite::create(feed::InstrumentId instrument) noexcept {
    const auto index = static_cast<std::uint32_t>(symbol_.size());
    auto& symbol = symbol_.emplace_back();  // never allocates: there are at most as many as instruments
    symbol.instrument = instrument;
    for (std::size_t venue = 0; venue < venues_.size(); ++venue) {
        auto& member = members_[base_of(index) + venue];
        const auto state = state_of(member, venue);
        leave_out(symbol, member, state.channel, state.left_out);
    }
    places_[instrument] = {index, kNone};
    symbols_.add();
    return index;
}

inline bool Composite::add(feed::InstrumentId symbol, feed::InstrumentId member, std::size_t venue,
                           std::int64_t utc_ns) noexcept {
    const auto refuse = [this] {
        refused_.add();
        return false;
    };
    if (symbol >= places_.size() || member >= places_.size() || venue >= venues_.size()) return refuse();
    if (places_[member].symbol != kNone || member == symbol) return refuse();
    if (places_[symbol].symbol != kNone && places_[symbol].venue != kNone) return refuse();
    const auto index = places_[symbol].symbol != kNone ? places_[symbol].symbol : create(symbol);
    auto& added = members_[base_of(index) + venue];
    if (added.instrument != feed::kNoInstrument) return refuse();
    added.instrument = member;
    places_[member] = {index, static_cast<std::uint32_t>(venue)};
    symbol_[index].generation = 0;
    cause_ = {.number = 0, .exchange_utc_ns = 0, .receive_utc_ns = utc_ns, .receive_ticks = 0};
    pending_ = symbol_.size();
    return true;
}

inline void Composite::set_known(std::uint16_t channel, bool repaired, std::int64_t utc_ns) noexcept {
    if (!takes_part(channel) || (known_ >> channel & 1U) != 0) return;
    if (channel_state_[channel].has_lost && !repaired) return;
    channel_state_[channel].has_lost = false;
    mark_known(channel, true);
    begin_renewal({.number = 0, .exchange_utc_ns = 0, .receive_utc_ns = utc_ns, .receive_ticks = 0});
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

inline Composite::State Composite::state_of(const Member& member, std::size_t venue) const noexcept {
    const auto reason_of_loss = [this](std::uint8_t of) {
        const auto& lost = channel_state_[of];
        return lost.was_silent && lost.gapped > lost.cleared ? LeftOut::silent : LeftOut::incomplete;
    };
    const auto& channel = channel_state_[member.channel];
    if (member.number > channel.cleared) {
        if (member.number > channel.gapped) return {member.left_out, member.channel, true, true};
        return {reason_of_loss(member.channel), member.channel, true, false};
    }
    const auto unknown = venues_[venue] & ~known_;
    const auto named = static_cast<std::uint8_t>(std::countr_zero(unknown != 0 ? unknown : venues_[venue]));
    return {unknown != 0 ? reason_of_loss(named) : LeftOut::none, named, false, false};
}

inline void Composite::check(Symbol& symbol, std::size_t base) noexcept {
    symbol.generation = generation_;
    symbol.must_publish = symbol.number != 0 && symbol.number < gapped_;
    symbol.levels_changed = depth_ != 0;
    for (std::size_t venue = 0; venue < venues_.size(); ++venue) {
        auto& member = members_[base + venue];
        const auto state = state_of(member, venue);
        if (!state.has_quote) member.number = 0;  // its channel may change below
        if (!state.counts) empty(base + venue);
        if (state.left_out != member.left_out || state.channel != member.channel)
            leave_out(symbol, member, state.channel, state.left_out);
    }
}

inline Composite::Best Composite::best_of(const Symbol& symbol, std::size_t base) const noexcept {
    feed::Price bid = kNoBid;
    feed::Price ask = kNoAsk;
    Best best;
    const auto add = [](std::uint64_t a, std::uint64_t b) {
        const auto sum = a + b;
        return sum | (sum < a ? ~std::uint64_t{0} : std::uint64_t{0});
    };
    // Without branches, because which member is best is hard to predict.
    for (std::size_t place = base; place < base + venues_.size(); ++place) {
        const auto bit = std::uint64_t{1} << members_[place].channel;
        const auto& of_bid = bids_[place];
        const auto keeps_bid = of_bid.price > bid ? std::uint64_t{0} : ~std::uint64_t{0};
        const auto takes_bid = of_bid.price >= bid ? ~std::uint64_t{0} : std::uint64_t{0};
        best.bid_size = add(best.bid_size & keeps_bid, of_bid.size & takes_bid);
        best.bid_channels = (best.bid_channels & keeps_bid) | (bit & takes_bid);
        bid = std::max(bid, of_bid.price);
        const auto& of_ask = asks_[place];
        const auto keeps_ask = of_ask.price < ask ? std::uint64_t{0} : ~std::uint64_t{0};
        const auto takes_ask = of_ask.price <= ask ? ~std::uint64_t{0} : std::uint64_t{0};
        best.ask_size = add(best.ask_size & keeps_ask, of_ask.size & takes_ask);
        best.ask_channels = (best.ask_channels & keeps_ask) | (bit & takes_ask);
        ask = std::min(ask, of_ask.price);
    }
    // A side without size has price 0, and members without one are not in it.
    best.bid_price = best.bid_size != 0 ? bid : 0;
    best.ask_price = best.ask_size != 0 ? ask : 0;
    if (best.bid_size == 0) best.bid_channels = 0;
    if (best.ask_size == 0) best.ask_channels = 0;
    best.flags = flags_of(symbol, base, best);
    return best;
}

inline std::uint64_t Composite::flags_of(const Symbol& symbol, std::size_t base, const Best& best) const noexcept {
    std::uint64_t flags = 0;
    if (best.bid_size != 0 && best.ask_size != 0 && best.bid_price >= best.ask_price) [[unlikely]]
        flags = best.bid_price == best.ask_price ? feed::kLocked : feed::kCrossed;
    const auto of = [&](LeftOut reason) { return symbol.left_out[static_cast<std::size_t>(reason)]; };
    if ((of(LeftOut::incomplete) | of(LeftOut::silent)) != 0) flags |= feed::kIncomplete;
    if (of(LeftOut::halted) != 0 && is_halted(base)) [[unlikely]]
        flags |= feed::kHalted;
    return flags;
}

inline bool Composite::is_halted(std::size_t base) const noexcept {
    const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(base);
    return std::none_of(begin, begin + static_cast<std::ptrdiff_t>(venues_.size()), [](const Member& member) {
        return member.instrument != feed::kNoInstrument &&
               (member.left_out == LeftOut::none || member.left_out == LeftOut::not_firm);
    });
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
    const bool has_quote = best != symbol.best || symbol.venues_changed || symbol.must_publish;
    if (!has_quote && !symbol.levels_changed) return;
    // The symbol has had no quote yet.
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
    if (depth_ != 0) {
        publish_levels(symbol, base, quote, has_quote, publish);
        if (!has_quote) return;
        quote.flags |= feed::kLast;
    }
    symbol.number = publish(quote);
    symbol.must_publish = false;
    if (((best.flags ^ symbol.best.flags) & (feed::kLocked | feed::kCrossed)) != 0) [[unlikely]]
        count_flags(symbol.best.flags, best.flags);
    symbol.best = best;
    quotes_.add();
}

inline bool Composite::sum_levels(std::size_t base, LevelSums& bids, LevelSums& asks) const noexcept {
    bool is_complete = true;
    std::array<BoardLevel, std::size_t{2} * kMaxBoardDepth> levels;
    for (std::size_t venue = 0; venue < venues_.size(); ++venue) {
        const auto& member = members_[base + venue];
        if (member.left_out != LeftOut::none || member.instrument == feed::kNoInstrument) continue;
        const auto record = board_->levels(member.instrument, levels);
        const auto channel = record.event.channel;
        if (record.state == RecordState::none || !has_channel(venue, channel) ||
            record.number <= channel_state_[channel].cleared) {
            is_complete = is_complete && bids_[base + venue].size == 0 && asks_[base + venue].size == 0;
            continue;
        }
        if ((ended_ >> channel & 1U) != 0) continue;
        if (record.state != RecordState::whole || (record.event.flags & feed::kIncomplete) != 0 ||
            record.number <= channel_state_[channel].gapped) {
            is_complete = false;
            continue;
        }
        bids.add(std::span{levels}.first(record.event.bids));
        asks.add(std::span{levels}.subspan(board_->max_depth(), record.event.asks));
    }
    return is_complete;
}

template <class Publish>
void Composite::publish_levels(Symbol& symbol, std::size_t base, const feed::Quote& quote, bool has_quote,
                               Publish& publish) noexcept {
    LevelSums bids{feed::Side::bid, depth_};
    LevelSums asks{feed::Side::ask, depth_};
    const bool is_complete = sum_levels(base, bids, asks) && (quote.flags & feed::kIncomplete) == 0;
    const bool restarts = symbol.must_publish || is_complete != symbol.has_levels;
    symbol.has_levels = is_complete;
    symbol.levels_changed = false;
    feed::Level level;
    level.instrument = symbol.instrument;
    level.channel = channel_;
    level.flags = static_cast<std::uint16_t>((restarts ? feed::kSnapshot : 0) | (is_complete ? 0 : feed::kIncomplete));
    level.exchange_utc_ns = quote.exchange_utc_ns;
    level.receive_utc_ns = quote.receive_utc_ns;
    level.receive_ticks = quote.receive_ticks;
    level.feed_sequence = quote.feed_sequence;
    // One event behind, because the last one of the group is marked.
    bool is_waiting = restarts;  // without a side: all levels are void
    auto visit = [&](feed::Side side, const BoardLevel& changed) {
        if (is_waiting) publish(level);
        is_waiting = true;
        level.side = side;
        level.price = changed.price;
        level.size = changed.size;
        level.orders = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(changed.orders, std::numeric_limits<std::uint32_t>::max()));
    };
    std::array<BoardLevel, std::size_t{2} * kMaxBoardDepth> before;
    const auto record = board_->levels(symbol.instrument, before);
    const bool has_before =
        !restarts && record.state == RecordState::whole && record.number > board_->cleared(channel_);
    bids.visit_changes(std::span{before}.first(has_before ? record.event.bids : 0), visit);
    asks.visit_changes(std::span{before}.subspan(board_->max_depth(), has_before ? record.event.asks : 0), visit);
    if (!is_waiting) return;
    if (!has_quote) level.flags |= feed::kLast;
    publish(level);
}

template <class Event, class Publish>
void Composite::follow_group(const Event& event, std::uint64_t number, Publish& publish) noexcept {
    if (depth_ == 0 || event.instrument >= places_.size()) return;
    const auto [index, venue] = places_[event.instrument];
    if (venue == kNone || !has_channel(venue, event.channel)) return;
    auto& symbol = symbol_[index];
    if (std::is_same_v<Event, feed::Level>) symbol.levels_changed = true;
    if (!symbol.levels_changed || (event.flags & feed::kLast) == 0) return;
    if (symbol.generation != generation_) check(symbol, base_of(index));
    const Cause cause{number, event.exchange_utc_ns, event.receive_utc_ns, event.receive_ticks};
    publish_if_changed(symbol, base_of(index), cause, publish);
}

template <class Publish>
void Composite::on(const feed::Quote& quote, std::uint64_t number, Publish&& publish) noexcept {
    if (quote.instrument >= places_.size()) return;
    const auto [index, venue] = places_[quote.instrument];
    if (venue == kNone || !has_channel(venue, quote.channel)) return;
    auto& symbol = symbol_[index];
    const auto base = base_of(index);
    if (symbol.generation != generation_) [[unlikely]]
        check(symbol, base);
    const bool has_ended = (ended_ >> quote.channel & 1U) != 0;
    const auto reason = has_ended ? LeftOut::none : reason_of(quote.flags);
    const bool counts = reason == LeftOut::none && !has_ended;
    const auto bid = counts && quote.bid_size != 0 ? Side{quote.bid_price, quote.bid_size} : Side{kNoBid, 0};
    const auto ask = counts && quote.ask_size != 0 ? Side{quote.ask_price, quote.ask_size} : Side{kNoAsk, 0};
    auto& member = members_[base + venue];
    member.number = number;
    if (reason != member.left_out || quote.channel != member.channel) [[unlikely]]
        leave_out(symbol, member, quote.channel, reason);
    const auto old_bid = std::exchange(bids_[base + venue], bid);
    const auto old_ask = std::exchange(asks_[base + venue], ask);
    const auto best_bid = symbol.best.bid_size != 0 ? symbol.best.bid_price : kNoBid;
    const auto best_ask = symbol.best.ask_size != 0 ? symbol.best.ask_price : kNoAsk;
    const bool keeps_bid = bid == old_bid || std::max(bid.price, old_bid.price) < best_bid;
    const bool keeps_ask = ask == old_ask || std::min(ask.price, old_ask.price) > best_ask;
    if (keeps_bid && keeps_ask && !symbol.venues_changed && !symbol.must_publish && !symbol.levels_changed) return;
    const Cause cause{number, quote.exchange_utc_ns, quote.receive_utc_ns, quote.receive_ticks};
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
    channel.has_lost = channel.has_lost || !channel.was_silent;
    mark_known(gap.channel, false);
    lose({number, 0, gap.receive_utc_ns, 0}, publish);
}

template <class Publish>
void Composite::on(const feed::Status& status, std::uint64_t number, Publish&& publish) noexcept {
    if (status.instrument != feed::kNoInstrument || !takes_part(status.channel)) return;
    using enum feed::TradingState;
    const bool ends = status.state == end_of_messages || status.state == end_of_system_hours;
    const auto bit = std::uint64_t{1} << status.channel;
    if (ends == ((ended_ & bit) != 0)) return;
    ended_ ^= bit;
    channel_state_[status.channel].cleared = number;
    mark_known(status.channel, ends);
    lose({number, status.exchange_utc_ns, status.receive_utc_ns, 0}, publish);
}

template <class Publish>
void Composite::on(const feed::Clear& clear, std::uint64_t number, Publish&& publish) noexcept {
    if (!takes_part(clear.channel)) return;
    const Cause cause{number, 0, clear.receive_utc_ns, 0};
    if (clear.instrument == feed::kNoInstrument) {
        auto& channel = channel_state_[clear.channel];
        channel.cleared = number;
        channel.has_lost = false;
        ended_ &= ~(std::uint64_t{1} << clear.channel);
        mark_known(clear.channel, clear.reason == feed::ClearReason::end_of_session);
        return lose(cause, publish);
    }
    if (clear.instrument >= places_.size()) return;
    const auto [index, venue] = places_[clear.instrument];
    if (venue == kNone || !has_channel(venue, clear.channel)) return;
    auto& symbol = symbol_[index];
    const auto base = base_of(index);
    if (symbol.generation != generation_) check(symbol, base);
    auto& member = members_[base + venue];
    member.number = number;
    const bool is_complete = (clear.flags & feed::kIncomplete) == 0;
    leave_out(symbol, member, clear.channel, is_complete ? LeftOut::none : LeftOut::incomplete);
    symbol.levels_changed = depth_ != 0;
    empty(base + venue);
    publish_if_changed(symbol, base, cause, publish);
}

template <class Publish>
std::size_t Composite::renew(std::size_t max, Publish&& publish) noexcept {
    const auto count = std::min(max, pending_);
    for (std::size_t i = 0; i < count; ++i) {
        next_ = next_ + 1 < symbol_.size() ? next_ + 1 : 0;
        auto& symbol = symbol_[next_];
        if (symbol.generation == generation_) continue;
        check(symbol, base_of(next_));
        publish_if_changed(symbol, base_of(next_), cause_, publish);
    }
    pending_ -= count;
    return count;
}

}  // namespace millpond::market
