#include "gateway/json_lines/depth_books.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <millpond/feed/event_json.hpp>

namespace millpond::gateway::json_lines {
namespace {

using feed::Side;
using Levels = market::Book::Levels;

constexpr unsigned kLevelsComplete = 1;
constexpr unsigned kOrdersComplete = 2;
/// Live orders of an instrument; the book of one with more is incomplete. This and the levels of Books::Options bound
/// the text of a snapshot, and so the memory of a client.
constexpr std::uint32_t kMaxOrders = 1U << 16U;

bool restarts(const feed::Level& level) { return level.side != Side::bid && level.side != Side::ask; }
bool restarts(const feed::Order& order) { return order.action == feed::OrderAction::clear; }

/// Number of levels with a better price.
std::size_t better_than(const Levels& levels, Side side, feed::Price price) {
    const auto is_better = [&](const market::Book::Level& level) {
        return side == Side::bid ? level.price > price : level.price < price;
    };
    return static_cast<std::size_t>(std::ranges::partition_point(levels, is_better) - levels.begin());
}

/// Place of the price, counted from 1; 0 if it has no level.
std::size_t place_of(const Levels& levels, Side side, feed::Price price) {
    const auto place = better_than(levels, side, price);
    return place < levels.size() && levels[static_cast<std::ptrdiff_t>(place)].price == price ? place + 1 : 0;
}

}  // namespace

void DepthBooks::open(Channels channels) {
    channels_ = std::move(channels);
    levels_.emplace(
        market::Books::Options{.max_instruments = channels_.max_instruments},
        [this](std::uint16_t channel) { return market::ChannelDepth{.depth = channels_.depth_of(channel).depth}; });
    orders_.emplace(
        market::Books::Options{.max_instruments = channels_.max_instruments, .orders = kMaxOrders},
        [this](std::uint16_t channel) { return market::ChannelDepth{.orders = channels_.depth_of(channel).orders}; });
}

market::ChannelDepth DepthBooks::channel_depth(std::uint16_t channel) const {
    return channels_.depth_of ? channels_.depth_of(channel) : market::ChannelDepth{};
}

market::ChannelDepth DepthBooks::common_depth() const {
    std::optional<market::ChannelDepth> common;
    for (std::uint32_t channel = 0; channel < channels_.max_channels; ++channel) {
        const auto depth = channels_.depth_of(static_cast<std::uint16_t>(channel));
        if (!depth.is_on()) continue;
        if (!common) common = depth;
        common->depth = std::min(common->depth, depth.depth);
        common->orders = common->orders && depth.orders;
    }
    return common.value_or(market::ChannelDepth{});
}

std::optional<std::uint16_t> DepthBooks::channel(feed::InstrumentId id) const noexcept {
    return has_book(id) ? std::optional{states_[id].channel} : std::nullopt;
}

unsigned DepthBooks::complete_books(feed::InstrumentId id) const noexcept {
    const auto [levels, orders] = complete(id);
    return (levels ? kLevelsComplete : 0U) | (orders ? kOrdersComplete : 0U);
}

template <class Event>
void DepthBooks::record(const Event& event, std::uint64_t number) {
    if (event.instrument >= states_.size()) states_.resize(std::size_t{event.instrument} + 1);
    auto& state = states_[event.instrument];
    state.number = number;
    state.receive_utc_ns = event.receive_utc_ns;
    state.exchange_utc_ns = event.exchange_utc_ns;
    state.channel = event.channel;
    state.is_removed = false;
}

template <class Event>
void DepthBooks::add_entry(const Event& event, std::uint64_t number, std::uint32_t ring_entries) {
    auto* restart = restarting_.empty() ? nullptr : find_restart(event.instrument);
    if (restart == nullptr && restarts(event)) restart = &apply_early(event.instrument, event.channel);
    if (restart == nullptr) {
        if (open_.size() == kMaxOpen) {
            const auto [id, channel] = std::visit(
                [](const auto& oldest) { return std::pair{oldest.instrument, oldest.channel}; }, open_.front().event);
            apply_early(id, channel);
            if (id == event.instrument) return add_entry(event, number, ring_entries);
        }
        open_.push_back({event, number});
        return;
    }
    if (wants(event)) restart->events += ring_entries;
    apply(event);
    record(event, number);
}

template void DepthBooks::add_entry(const feed::Order&, std::uint64_t, std::uint32_t);
template void DepthBooks::add_entry(const feed::Level&, std::uint64_t, std::uint32_t);
template void DepthBooks::record(const feed::Quote&, std::uint64_t);
template void DepthBooks::record(const feed::Trade&, std::uint64_t);

DepthBooks::Restart* DepthBooks::find_restart(feed::InstrumentId id) noexcept {
    const auto found = std::ranges::find(restarting_, id, &Restart::id);
    return found == restarting_.end() ? nullptr : &*found;
}

void DepthBooks::extract_group(feed::InstrumentId id) {
    const auto others = std::ranges::stable_partition(open_, [id](const Entry& entry) {
        return std::visit([id](const auto& event) { return event.instrument == id; }, entry.event);
    });
    group_.assign(open_.begin(), others.begin());
    open_.erase(open_.begin(), others.begin());
}

DepthBooks::Restart& DepthBooks::apply_early(feed::InstrumentId id, std::uint16_t channel) {
    extract_group(id);
    auto& restart = restarting_.emplace_back(id, channel, 0U);
    for (const auto& entry : group_) {
        std::visit(
            [&](const auto& event) {
                if (wants(event)) ++restart.events;
                apply(event);
                record(event, entry.number);
            },
            entry.event);
    }
    return restart;
}

std::span<const BookChange> DepthBooks::end_group(feed::InstrumentId id) {
    changes_.clear();
    if (const auto* restart = restarting_.empty() ? nullptr : find_restart(id)) {
        if (demand_.wants_levels(id) || demand_.wants_orders(id)) {
            changes_.push_back({.event = BookChange::Whole{}, .number = states_[id].number, .events = restart->events});
        }
        states_[id].incomplete_since = kNoLine;
        std::erase_if(restarting_, [id](const Restart& open) { return open.id == id; });
        return changes_;
    }
    if (open_.empty()) return changes_;
    extract_group(id);
    if (group_.empty()) return changes_;
    const bool is_new = !has_book(id) || states_[id].is_removed;
    const auto before = complete_books(id);
    collect_level_changes(id);
    for (const auto& entry : group_) {
        std::visit(
            [&](auto event) {
                // The trade or quote that ends the group does not change the book.
                event.flags = static_cast<std::uint16_t>(event.flags & ~feed::kLast);
                if (entry.number == group_.back().number) event.flags |= feed::kLast;
                apply(event);
                record(event, entry.number);
            },
            entry.event);
    }
    const auto after = complete_books(id);
    if (is_new || before != after) {
        std::uint32_t events = 0;
        for (const auto& entry : group_) {
            if (std::visit([this](const auto& event) { return wants(event); }, entry.event)) ++events;
        }
        if (demand_.wants_levels(id) || demand_.wants_orders(id)) {
            changes_.push_back({.event = BookChange::Whole{}, .number = states_[id].number, .events = events});
        }
        return changes_;
    }
    find_new_places(id);
    add_order_changes(after);
    add_entering_levels(id, Side::bid);
    add_entering_levels(id, Side::ask);
    add_level_changes((after & kLevelsComplete) != 0);
    return changes_;
}

Levels DepthBooks::levels_of(feed::InstrumentId id, Side side) const {
    const auto* const book = book_of_levels(id);
    if (book == nullptr) return {};
    return side == Side::bid ? book->bids() : book->asks();
}

/// Collects the levels that group_ changes, each once, with their places before.
void DepthBooks::collect_level_changes(feed::InstrumentId id) {
    level_changes_.clear();
    if (!demand_.wants_levels(id)) return;
    for (const auto& entry : group_) {
        const auto* const level = std::get_if<feed::Level>(&entry.event);
        if (level == nullptr) continue;
        const auto same = std::ranges::find_if(level_changes_, [&](const LevelChange& change) {
            return change.event->side == level->side && change.event->price == level->price;
        });
        if (same != level_changes_.end()) {
            same->event = level;
            same->number = entry.number;
            ++same->events;
            continue;
        }
        level_changes_.push_back({.event = level,
                                  .number = entry.number,
                                  .events = 1,
                                  .old_place = place_of(levels_of(id, level->side), level->side, level->price),
                                  .new_place = 0});
    }
}

void DepthBooks::find_new_places(feed::InstrumentId id) {
    for (auto& change : level_changes_) {
        const auto& level = *change.event;
        change.new_place = place_of(levels_of(id, level.side), level.side, level.price);
        if (change.new_place == 0 && level.size != 0) change.old_place = 0;  // behind the last place: readers trim
    }
    unneeded_ = 0;
    std::erase_if(level_changes_, [this](const LevelChange& change) {
        if (change.min_levels() == 0) unneeded_ += change.events;
        return change.min_levels() == 0;
    });
    // The change closest to the touch is the last one: every client whose book changes gets it.
    std::ranges::stable_sort(level_changes_, std::ranges::greater{}, &LevelChange::min_levels);
}

/// Adds the levels that did not change and moved to a better place, for the clients whose last place that is.
void DepthBooks::add_entering_levels(feed::InstrumentId id, Side side) {
    const auto is_gone = [side](const LevelChange& change) {
        return change.event->side == side && change.old_place != 0 && change.new_place == 0;
    };
    if (std::ranges::none_of(level_changes_, is_gone)) return;
    const auto levels = levels_of(id, side);
    const auto& state = states_[id];
    std::size_t done = 0;  // places that clients of fewer levels may have got
    for (const auto& [depth, users] : demand_.depths()) {
        for (auto place = std::min<std::size_t>(depth, levels.size()); place > done; --place) {
            const auto& level = levels[static_cast<std::ptrdiff_t>(place - 1)];
            auto old_place = place;
            bool changed = false;
            for (const auto& change : level_changes_) {
                const auto price = change.event->price;
                if (change.event->side != side) continue;
                changed = changed || price == level.price;
                if (side == Side::bid ? price <= level.price : price >= level.price) continue;
                if (change.old_place != 0 && change.new_place == 0) ++old_place;
                if (change.old_place == 0 && change.new_place != 0) --old_place;
            }
            if (changed) continue;
            if (old_place <= depth) break;
            feed::Level event;
            event.instrument = id;
            event.channel = state.channel;
            event.side = side;
            event.orders = level.orders;
            event.price = level.price;
            event.size = level.size;
            event.exchange_utc_ns = state.exchange_utc_ns;
            event.receive_utc_ns = state.receive_utc_ns;
            changes_.push_back({.event = event,
                                .number = state.number,
                                .min_levels = static_cast<std::uint32_t>(place),
                                .max_levels = static_cast<std::uint32_t>(old_place - 1)});
        }
        done = std::max<std::size_t>(done, depth);
        if (depth >= levels.size()) break;
    }
}

void DepthBooks::add_level_changes(bool is_complete) {
    for (const auto& change : level_changes_) {
        auto level = *change.event;
        level.flags = static_cast<std::uint16_t>(level.flags & ~(feed::kLast | feed::kSnapshot));
        changes_.push_back({.event = level,
                            .number = change.number,
                            .min_levels = static_cast<std::uint32_t>(change.min_levels()),
                            .events = change.events});
    }
    if (!level_changes_.empty()) std::get<feed::Level>(changes_.back().event).flags |= feed::kLast;
    for (auto& change : changes_) {
        if (auto* const level = std::get_if<feed::Level>(&change.event); level != nullptr && !is_complete) {
            level->flags |= feed::kIncomplete;
        }
    }
    if (unneeded_ != 0)
        changes_.push_back({.event = feed::Level{}, .min_levels = 1, .max_levels = 0, .events = unneeded_});
}

void DepthBooks::add_order_changes(unsigned complete) {
    for (const auto& entry : group_) {
        const auto* const given = std::get_if<feed::Order>(&entry.event);
        if (given == nullptr || !wants(*given)) continue;
        auto order = *given;
        order.flags = static_cast<std::uint16_t>(order.flags & ~(feed::kLast | feed::kSnapshot));
        if ((complete & kOrdersComplete) == 0) order.flags |= feed::kIncomplete;
        changes_.push_back({.event = order, .number = entry.number, .events = 1});
    }
    if (changes_.empty()) return;
    // Clients of whose levels none changes get the same order with kLast.
    const auto min_levels = level_changes_.empty() ? 0 : level_changes_.back().min_levels();
    auto last = changes_.back();
    std::get<feed::Order>(last.event).flags |= feed::kLast;
    if (min_levels == 0) {
        changes_.back() = last;
        return;
    }
    changes_.back().min_levels = static_cast<std::uint32_t>(min_levels);
    last.max_levels = static_cast<std::uint32_t>(min_levels - 1);
    last.events = 0;
    last.moved_events = 1;
    changes_.push_back(last);
}

void DepthBooks::drop_open(std::optional<std::uint16_t> channel) {
    std::erase_if(open_, [&](const Entry& entry) {
        return !channel || std::visit([&](const auto& event) { return event.channel == *channel; }, entry.event);
    });
    std::erase_if(restarting_, [&](const Restart& restart) { return !channel || restart.channel == *channel; });
}

void DepthBooks::on(const feed::Clear& clear, std::uint64_t number) {
    if (!levels_) return;
    if (clear.instrument == feed::kNoInstrument) {
        drop_open(clear.channel);
    } else {
        extract_group(clear.instrument);
        std::erase_if(restarting_, [&](const Restart& restart) { return restart.id == clear.instrument; });
    }
    apply(clear);
    for (feed::InstrumentId id = 0; id < states_.size(); ++id) {
        auto& state = states_[id];
        if (state.number == 0 || state.channel != clear.channel) continue;
        if (clear.instrument != feed::kNoInstrument && clear.instrument != id) continue;
        state.number = number;
        state.receive_utc_ns = clear.receive_utc_ns;
        state.incomplete_since = kNoLine;
        state.is_removed = book_of_levels(id) == nullptr && book_of_orders(id) == nullptr;
    }
}

template <class Loss>
void DepthBooks::mark_incomplete(const Loss& loss, std::optional<std::uint16_t> channel, std::uint64_t line) {
    if (!levels_) return;
    for (feed::InstrumentId id = 0; id < states_.size(); ++id) {
        auto& state = states_[id];
        if (state.number == 0 || (channel && state.channel != *channel)) continue;
        if (complete_books(id) != 0 || find_restart(id) != nullptr || state.is_removed) state.incomplete_since = line;
    }
    drop_open(channel);
    apply(loss);
}

void DepthBooks::on(const feed::Gap& gap, std::uint64_t line) { mark_incomplete(gap, gap.channel, line); }

void DepthBooks::on(const queue::MissedRange& missed, std::uint64_t line) {
    mark_incomplete(missed, std::nullopt, line);
}

namespace {

/// Appends events of one instrument as JSON lines; the last one gets kLast.
class LineWriter {
public:
    LineWriter(const feed::JsonSymbol& symbol, std::uint64_t number, std::string& out)
        : symbol_(symbol), number_(number), out_(out) {}

    template <class Event>
    void add(const Event& event) {
        write_pending(0);
        pending_ = event;
        ++count_;
    }
    /// Returns the number of lines.
    std::size_t end() {
        write_pending(feed::kLast);
        return count_;
    }

private:
    void write_pending(std::uint16_t flags) {
        if (count_ == 0) return;
        std::array<char, feed::kMaxJsonBytes> buffer;
        std::visit(
            [&](auto& event) {
                event.flags |= flags;
                out_ += feed::event_json(buffer, event, symbol_, number_);
            },
            pending_);
        out_ += '\n';
    }

    const feed::JsonSymbol& symbol_;
    std::uint64_t number_;
    std::string& out_;
    std::variant<feed::Level, feed::Order> pending_;
    std::size_t count_{0};
};

std::uint16_t snapshot_flags(const market::Book* book) {
    const bool complete = book != nullptr && book->complete();
    return static_cast<std::uint16_t>(feed::kSnapshot | (complete ? 0 : feed::kIncomplete));
}

}  // namespace

std::size_t DepthBooks::write_events(feed::InstrumentId id, Depth depth, const feed::JsonSymbol& symbol,
                                     std::string& out) const {
    return write_snapshot(id, depth, book_of_orders(id), book_of_levels(id), symbol, out);
}

std::size_t DepthBooks::write_empty(feed::InstrumentId id, Depth depth, const feed::JsonSymbol& symbol,
                                    std::string& out) const {
    return write_snapshot(id, depth, nullptr, nullptr, symbol, out);
}

std::size_t DepthBooks::write_snapshot(feed::InstrumentId id, Depth depth, const market::Book* orders,
                                       const market::Book* levels, const feed::JsonSymbol& symbol,
                                       std::string& out) const {
    assert(has_book(id));
    const auto& state = states_[id];
    LineWriter writer{symbol, state.number, out};
    const auto event_of = [&]<class Event>(Event event, const market::Book* book) {
        event.instrument = id;
        event.channel = state.channel;
        event.flags = snapshot_flags(book);
        event.exchange_utc_ns = state.exchange_utc_ns;
        event.receive_utc_ns = state.receive_utc_ns;
        return event;
    };
    const auto each_side = [](const market::Book* book, auto&& visit) {
        if (book == nullptr) return;
        visit(Side::bid, book->bids());
        visit(Side::ask, book->asks());
    };
    if (depth.orders) {
        auto clear = event_of(feed::Order{}, orders);
        clear.action = feed::OrderAction::clear;
        writer.add(clear);
        each_side(orders, [&](Side side, const Levels& shown) {
            for (const auto& level : shown) {
                orders->visit_orders(level, [&](const market::Book::Order& order) {
                    auto event = event_of(feed::Order{}, orders);
                    event.side = side;
                    event.order_id = order.id;
                    event.price = order.price;
                    event.size = event.size_left = order.size;
                    writer.add(event);
                });
            }
        });
    }
    if (depth.levels != 0) {
        writer.add(event_of(feed::Level{}, levels));
        each_side(levels, [&](Side side, const Levels& shown) {
            for (const auto& level : shown | std::views::take(depth.levels)) {
                auto event = event_of(feed::Level{}, levels);
                event.side = side;
                event.price = level.price;
                event.size = level.size;
                event.orders = level.orders;
                writer.add(event);
            }
        });
    }
    return writer.end();
}

void DepthBooks::write_book(feed::InstrumentId id, std::uint32_t levels, const feed::JsonSymbol& symbol,
                            std::string& out) const {
    assert(has_book(id));
    append_book_json(out, levels == 0 ? nullptr : book_of_levels(id), levels, symbol, states_[id]);
    out += '\n';
}

}  // namespace millpond::gateway::json_lines
