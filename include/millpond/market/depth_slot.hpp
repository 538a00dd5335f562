#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include <millpond/feed/event.hpp>
#include <millpond/market/board_layout.hpp>
#include <millpond/market/open_group.hpp>
#include <millpond/queue/sequenced_words.hpp>

namespace millpond::market {

/// A price level of the board.
struct BoardLevel {
    feed::Price price;
    std::uint64_t size;
    std::uint64_t orders;
};

/// What a depth slot holds beside its levels.
struct DepthHead {
    std::uint16_t bids{0};
    std::uint16_t asks{0};
    std::uint16_t channel{0};
    std::uint16_t flags{0};  ///< kIncomplete or 0.
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};
static_assert(sizeof(DepthHead) == sizeof(DepthSlot::head) && sizeof(BoardLevel) == sizeof(DepthLevel));

/// Ring numbers at which the levels of a channel became void or incomplete, 0: never.
struct ChannelLosses {
    std::uint64_t cleared;
    std::uint16_t clear_flags;  ///< Of the Clear; kIncomplete if there was none.
    std::uint64_t gapped;
};

/// Changes the levels of a depth slot in place: begin, apply, and then end, or suspend if the group goes on. Readers
/// meanwhile see that the slot is being written.
///
/// The slot has the levels and says kIncomplete as a Book that has read the channel from its start: a level that the
/// slot drops makes it incomplete if the feed sends no event when that level comes back.
///
/// Cost:    O(levels before the changed one).
/// Threads: one.
/// Memory:  the board's.
class DepthSlotWriter {
public:
    /// capacity: levels of a side in the slot. depth: of the channel, at least 1.
    DepthSlotWriter(DepthSlot& slot, std::uint32_t capacity, std::uint32_t depth, std::uint16_t channel,
                    const ChannelLosses& losses) noexcept
        : slot_(slot),
          bids_(reinterpret_cast<DepthLevel*>(&slot + 1)),
          asks_(bids_ + capacity),
          limit_(static_cast<std::uint16_t>(std::min(capacity, depth))),
          drops_exactly_(depth <= capacity),
          losses_(losses) {
        const auto mark = slot_.number.load(std::memory_order_relaxed);
        const auto number = queue::marked_number(mark);
        is_new_ = mark == 0;
        head_ = std::bit_cast<Counts>(slot_.head[0].load(std::memory_order_relaxed));
        const bool is_void = number <= losses.cleared;
        const bool is_other_channels = head_.channel != channel;
        is_suspended_ = mark % 2 != 0 && !is_void && !is_other_channels;
        moves_ = is_other_channels && !is_void && !is_new_;
        if (is_void || is_other_channels) {
            head_ = {.channel = channel, .flags = is_void ? losses.clear_flags : std::uint16_t{feed::kIncomplete}};
        }
        head_.bids = std::min(head_.bids, limit_);
        head_.asks = std::min(head_.asks, limit_);
        if (losses.gapped > std::max(number, losses.cleared)) head_.flags |= feed::kIncomplete;
    }

    /// True between suspend and end.
    [[nodiscard]] bool is_suspended() const noexcept { return is_suspended_; }
    [[nodiscard]] bool is_incomplete() const noexcept { return (head_.flags & feed::kIncomplete) != 0; }
    /// True if the slot has levels of another channel, which begin replaces.
    [[nodiscard]] bool moves() const noexcept { return moves_; }

    /// number: of the ring entry that is published next.
    template <class Step>
    void begin(std::uint64_t number, Step& step) noexcept {
        if (is_new_) put(slot_.head[0], std::bit_cast<std::uint64_t>(head_), step);  // the channel
        queue::mark_writing(slot_.number, number);
        step();
    }
    /// Applies a whole group.
    template <class Step>
    void apply(const OpenGroup& group, Step& step) noexcept;
    /// Applies a group of one level.
    template <class Step>
    void apply(const feed::Level& level, Step& step) noexcept {
        if (has_side(level)) {
            set_finally(level, step);
        } else {
            clear(0);
        }
        head_.flags |= level.flags & feed::kIncomplete;
    }
    /// Applies one event of a group that is published in parts. A level that the slot drops makes it incomplete.
    template <class Event, class Step>
    void apply_partial(const Event& event, Step& step) noexcept;
    /// Removes all levels. flags: kIncomplete if there may be levels that the next events do not contain.
    void clear(std::uint16_t flags) noexcept {
        head_.bids = head_.asks = 0;
        head_.flags = flags & feed::kIncomplete;
    }
    /// The group goes on.
    template <class Step>
    void suspend(Step& step) noexcept {
        put(slot_.head[0], std::bit_cast<std::uint64_t>(head_), step);
    }
    /// number: of the ring entry of the group's last event, whose times it has.
    template <class Event, class Step>
    void end(const Event& last, std::uint64_t number, Step& step) noexcept;

private:
    /// The first word of DepthHead.
    struct Counts {
        std::uint16_t bids{0};
        std::uint16_t asks{0};
        std::uint16_t channel{0};
        std::uint16_t flags{0};
    };

    template <class Step>
    static void put(queue::Word& word, std::uint64_t value, Step& step) noexcept {
        word.store(value, std::memory_order_release);  // sync "n started": the loads of QuoteBoard::levels
        step();
    }
    template <class Step>
    static void copy(DepthLevel& to, const DepthLevel& from, Step& step) noexcept {
        put(to.price, from.price.load(std::memory_order_relaxed), step);
        put(to.size, from.size.load(std::memory_order_relaxed), step);
        put(to.orders, from.orders.load(std::memory_order_relaxed), step);
    }
    /// Index of the level, or of the first one that is worse. flip_bits: turns prices into keys that grow from the best
    /// one on.
    static std::uint16_t place_of(const DepthLevel* levels, std::uint16_t count, feed::Price price,
                                  feed::Price flip_bits) noexcept {
        std::uint16_t place = 0;
        const auto key = price ^ flip_bits;
        while (place < count && (price_at(levels, place) ^ flip_bits) < key) ++place;
        return place;
    }
    static feed::Price price_at(const DepthLevel* levels, std::uint16_t place) noexcept {
        return static_cast<feed::Price>(levels[place].price.load(std::memory_order_relaxed));
    }
    /// Applies the changes after the last level without a side, if there is one.
    template <class Step>
    void apply_all(const OpenGroup& group, Step& step) noexcept;
    /// Sets or removes a level of which the rest of the group needs nothing that the slot drops.
    template <class Step>
    void set_finally(const feed::Level& level, Step& step) noexcept {
        if (!set(level, step) && !drops_exactly_) head_.flags |= feed::kIncomplete;
    }
    /// Sets or removes a level. Returns false if it, or a worse one, is dropped.
    template <class Step>
    bool set(const feed::Level& level, Step& step) noexcept;

    DepthSlot& slot_;
    DepthLevel* bids_;
    DepthLevel* asks_;
    std::uint16_t limit_;
    bool drops_exactly_;  // a level behind the limit is sent again when it returns
    bool is_new_{false};
    bool is_suspended_{false};
    bool moves_{false};
    ChannelLosses losses_;
    Counts head_{};
};

template <class Step>
bool DepthSlotWriter::set(const feed::Level& level, Step& step) noexcept {
    const bool is_bid = level.side == feed::Side::bid;
    auto* const levels = is_bid ? bids_ : asks_;
    auto& count = is_bid ? head_.bids : head_.asks;
    const auto place = place_of(levels, count, level.price, is_bid ? -1 : 0);
    const bool exists = place < count && price_at(levels, place) == level.price;
    if (level.size == 0) {
        if (!exists) return true;
        for (std::size_t i = place; i + 1 < count; ++i) copy(levels[i], levels[i + 1], step);
        --count;
        return true;
    }
    if (place == limit_) return false;
    const bool fits = exists || count < limit_;
    if (!exists) {
        for (std::size_t i = fits ? count : count - 1U; i > place; --i) copy(levels[i], levels[i - 1], step);
        if (fits) ++count;
        put(levels[place].price, static_cast<std::uint64_t>(level.price), step);
    }
    put(levels[place].size, level.size, step);
    put(levels[place].orders, level.orders, step);
    return fits;
}

template <class Step>
void DepthSlotWriter::apply(const OpenGroup& group, Step& step) noexcept {
    if (group.levels() > 1) return apply_all(group, step);
    if (group.levels() == 1) {
        apply(*std::get_if<feed::Level>(&group.entries()[group.last_level()]), step);
    }
    if (group.is_incomplete()) head_.flags |= feed::kIncomplete;
}

template <class Step>
void DepthSlotWriter::apply_all(const OpenGroup& group, Step& step) noexcept {
    auto changes = group.entries();
    if (group.restarts()) {
        for (std::size_t i = 0; i < changes.size(); ++i) {
            const auto* const level = std::get_if<feed::Level>(&changes[i]);
            if (level == nullptr || has_side(*level)) continue;
            clear(0);
            changes = changes.subspan(std::exchange(i, 0));
        }
        for (const auto& entry : changes) {
            const auto flags = std::visit([](const auto& event) { return event.flags; }, entry);
            head_.flags |= flags & feed::kIncomplete;
        }
    } else if (group.is_incomplete()) {
        head_.flags |= feed::kIncomplete;
    }
    // Levels are totals: the last event of a price is its state after the group. Removed levels go first, so that what
    // the others push behind the limit is not in the best levels after the group either.
    const auto is_final = [&](std::size_t index) {
        const auto& level = *std::get_if<feed::Level>(&changes[index]);
        return std::ranges::none_of(changes.subspan(index + 1), [&](const GroupEntry& entry) {
            const auto* const later = std::get_if<feed::Level>(&entry);
            return later != nullptr && later->price == level.price && later->side == level.side;
        });
    };
    for (const bool removes : {true, false}) {
        for (std::size_t i = 0; i < changes.size(); ++i) {
            const auto* const level = std::get_if<feed::Level>(&changes[i]);
            if (level == nullptr || (level->size == 0) != removes || !has_side(*level) || !is_final(i)) continue;
            set_finally(*level, step);
        }
    }
}

template <class Event, class Step>
void DepthSlotWriter::apply_partial(const Event& event, Step& step) noexcept {
    if constexpr (Event::kKind == feed::EventKind::level) {
        if (!has_side(event)) {
            clear(0);
        } else if (!set(event, step)) {
            head_.flags |= feed::kIncomplete;  // the group may remove better ones later
        }
    }
    head_.flags |= event.flags & feed::kIncomplete;
}

template <class Event, class Step>
void DepthSlotWriter::end(const Event& last, std::uint64_t number, Step& step) noexcept {
    put(slot_.head[0], std::bit_cast<std::uint64_t>(head_), step);
    if constexpr (requires { last.exchange_utc_ns; }) {
        put(slot_.head[1], static_cast<std::uint64_t>(last.exchange_utc_ns), step);
        put(slot_.head[4], last.feed_sequence, step);
    }
    put(slot_.head[2], static_cast<std::uint64_t>(last.receive_utc_ns), step);
    put(slot_.head[3], last.receive_ticks, step);
    queue::mark_complete(slot_.number, number);
    step();
}

}  // namespace millpond::market
