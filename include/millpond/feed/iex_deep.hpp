#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <utility>

#include <millpond/feed/detail/iex_books.hpp>
#include <millpond/feed/detail/level_changes.hpp>
#include <millpond/feed/detail/level_groups.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/iex_decoder.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/order_books.hpp>

namespace millpond::feed {

/// Applies the messages of IEX DEEP to the price levels of a channel, whose changes become events as BookPublisher
/// says. Levels have no number of orders.
///
/// The levels of an instrument up to the one with the flag that completes the event are one group, between which there
/// may be messages of other instruments. Until it is complete the book stays as it was before; trades are published at
/// once. A group that is not complete after one second or has more than kMaxChanges changes is dropped and makes its
/// instrument incomplete; a loss drops all groups. A rebuilt book that began within a group is incomplete until that is
/// complete. A level of size 0 that is not in the book is ignored.
///
/// Threads: one; counters() may be read on any.
/// Memory:  BookPublisher, IexInstruments and LevelGroups, allocated and touched once in the constructor.
class IexDeep : public IexBooks<IexDeep> {
public:
    static constexpr std::uint16_t kProtocol = iex_layout::kDeep;
    static constexpr std::int64_t kOpenNs = 1'000'000'000;
    static constexpr std::size_t kMaxChanges = LevelGroups::kMaxChanges;

    IexDeep(InstrumentTable& instruments, const Options& options, std::pmr::memory_resource* memory)
        : IexBooks(instruments, options, memory), groups_(options.order_books.books, memory) {}

    /// Minimum bytes of a message that changes books; 0 for other types.
    [[nodiscard]] static constexpr std::size_t own_bytes(char type) noexcept {
        return type == '8' || type == '5' ? iex_layout::level::kBytes : 0;
    }

    [[nodiscard]] static constexpr bool is_in_snapshots(char) noexcept { return true; }
    /// Source: DEEP SNAP 1.6, page 11.
    [[nodiscard]] std::string_view snapshot_fault(std::uint16_t book, const IexMessage& message) const noexcept {
        namespace at = iex_layout::level;
        const auto price = message.number(at::kPriceAt);
        if (message.size(at::kSizeAt) == 0) return "a level of size 0";
        if ((message.flags() & at::kComplete) == 0) return "a level of a group in progress";
        const bool is_bid = static_cast<char>(message.bytes[0]) == '8';
        const bool is_there = book != Instruments::kNone && fits(price) &&
                              order_books_.level(book, is_bid, static_cast<std::uint32_t>(price)).shares != 0;
        return is_there ? "the same level twice" : "";
    }

    /// Drops the groups that have been open for a second or more. sequence: number of the last message.
    template <class Handler>
    void expire(std::uint64_t sequence, const Arrival& arrival, Handler& handler);

    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        IexBooks::visit_counters(visitor);
        visitor("groups_dropped", "Changes of several levels that were not completed.", dropped_);
    }

private:
    friend class IexBooks<IexDeep>;
    friend class IexAnnouncements<IexDeep>;

    static constexpr std::uint16_t kTradeFlags = 0;
    using Change = LevelGroups::Change;
    using Missing = LevelGroups::Missing;

    /// A cause of an event that is not a message.
    struct NoMessage {
        std::uint64_t sequence;
        const Arrival& arrival;
        [[nodiscard]] static std::int64_t exchange_utc_ns() noexcept { return 0; }
    };

    /// Books of levels do not show whether some were lost.
    [[nodiscard]] bool is_empty() const noexcept { return groups_.open() == 0 && order_books_.is_unchanged(); }
    void forget_open() noexcept {
        dropped_.add(groups_.open());
        groups_.clear();
    }
    /// `rebuilt` has the book's changes of a group in progress only if they wait there too. Otherwise its book began
    /// within the group, and is incomplete until the group is complete.
    void move_open(IexDeep& rebuilt, std::uint16_t from, std::uint16_t to) noexcept {
        auto& there = rebuilt.groups_;
        const bool has_all = groups_.missing(from) == Missing::nothing && groups_.size(from) <= there.size(to);
        if (has_all || !order_books_.is_complete(to)) return;
        there.set_missing(to, Missing::in_book);
        order_books_.mark_incomplete(to);
    }
    /// The open groups of the other one's books are now as old as `utc_ns`.
    void swap_open(IexDeep& other, std::int64_t utc_ns) noexcept {
        std::swap(groups_, other.groups_);
        groups_.set_opened(utc_ns);
    }
    template <class Handler>
    void apply_own(char type, std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void apply_changes(std::uint16_t book, std::span<const Change> changes, const IexMessage& message,
                       Handler& handler);
    template <class Handler>
    void publish_levels(std::uint16_t book, const IexMessage& message, Handler& handler);
    /// Drops the changes of the book's group. is_complete: with the group's last one.
    void lose_group(std::uint16_t book, bool is_complete) noexcept {
        groups_.close(book);
        groups_.set_missing(book, Missing::lost);
        if (is_complete) groups_.settle(book);
    }
    template <class Context, class Handler>
    void drop(std::uint16_t book, bool is_complete, const Context& context, Handler& handler);

    LevelGroups groups_;
    LevelChanges changed_;
    LevelChanges::Levels levels_;
    core::Tally dropped_;
};

using IexDeepDecoder = IexDecoder<IexDeep>;

template <class Handler>
void IexDeep::apply_own(char type, std::uint16_t book, const IexMessage& message, Handler& handler) {
    namespace at = iex_layout::level;
    const auto price = message.number(at::kPriceAt);
    const bool is_complete = (message.flags() & at::kComplete) != 0;
    if (!fits(price)) {
        if (groups_.is_open(book)) dropped_.add();
        lose_group(book, is_complete);
        return settle(OrderBooks::Outcome::price_too_high, book, Changes<Handler>{}, message, handler);
    }
    const Change change{
        .price = static_cast<std::uint32_t>(price), .shares = message.size(at::kSizeAt), .is_bid = type == '8'};
    if (is_complete && groups_.is_settled(book)) [[likely]] {
        counters_.applied.add();
        return apply_changes(book, {&change, 1}, message, handler);
    }
    if (!groups_.add(book, change, message.arrival.receive_utc_ns)) {
        counters_.refused.add();
        return drop(book, is_complete, message, handler);
    }
    counters_.applied.add();
    if (!is_complete) return;
    const auto changes = groups_.changes(book);
    if (groups_.settle(book) == Missing::in_book) order_books_.mark_complete(book);
    apply_changes(book, changes, message, handler);
}

template <class Handler>
void IexDeep::apply_changes(std::uint16_t book, std::span<const Change> changes, const IexMessage& message,
                            Handler& handler) {
    if constexpr (kHandlesBooks<Handler>) changed_.watch(order_books_, book, depth_);
    for (const auto& [price, shares, is_bid] : changes) {
        if constexpr (kHandlesBooks<Handler>) changed_.touch(order_books_, book, is_bid, price);
        if (order_books_.set_level(book, is_bid, price, shares) == OrderBooks::Outcome::done) [[likely]]
            continue;
        refused_orders_.add();
        order_books_.mark_incomplete(book);
    }
    if constexpr (kHandlesBooks<Handler>) {
        publish_levels(book, message, handler);
    } else {
        publish_top(book, message, handler);
    }
}

/// Publishes the group of the collected changes.
template <class Handler>
void IexDeep::publish_levels(std::uint16_t book, const IexMessage& message, Handler& handler) {
    auto& entry = books_[book];
    const auto current = top_of_book<Handler>(book);
    count_crossed(current);
    changed_.levels(order_books_, book, depth_, levels_);
    const bool is_first = (current.flags & kIncomplete) == 0 && entry.snapshot != snapshot_ &&
                          (!levels_.all().empty() || current.changed);
    if (is_first) entry.snapshot = snapshot_;
    const auto events = is_first ? snapshot_events<Handler>(book, false) : levels_.all().size();
    Group group{counters_, handler, events + (current.changed ? 1U : 0U), current.flags};
    if constexpr (HandlerOf<Handler, Level>) {
        auto event = start_event<Level>(message);
        event.instrument = entry.instrument;
        if (is_first) pass_all_levels(book, event, group);
        for (const auto& [is_bid, level] : levels_.all().first(is_first ? 0 : events)) {
            set_level(event, is_bid, level);
            group.pass(event, group.flags());
        }
    }
    if (current.changed) publish_quote(entry, current, kLast, message, handler);
}

template <class Context, class Handler>
void IexDeep::drop(std::uint16_t book, bool is_complete, const Context& context, Handler& handler) {
    lose_group(book, is_complete);
    dropped_.add();
    order_books_.mark_incomplete(book);
    publish_top(book, context, handler);
}

template <class Handler>
void IexDeep::expire(std::uint64_t sequence, const Arrival& arrival, Handler& handler) {
    while (const auto book = groups_.oldest(arrival.receive_utc_ns - kOpenNs))
        drop(*book, false, NoMessage{sequence, arrival}, handler);
}

}  // namespace millpond::feed
