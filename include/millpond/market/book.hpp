#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/queue/broadcast_reader.hpp>

namespace millpond::market {

/// The order book of one instrument, made of its events: price levels, and their orders in the order of their priority
/// if the feed sends orders. It is exact or says that it is not.
///
/// Give it every quote, trade, order and level of the instrument, every Clear and Gap of the instrument's channel, and
/// every MissedRange. A book is incomplete until it has seen a Clear of the session or a snapshot, and again after each
/// loss, each event marked incomplete and each contradiction, until the next Clear or snapshot.
///
/// Cost:    O(levels behind the changed one), and O(log levels) to find it; O(orders) for a Clear or a snapshot.
/// Threads: one.
/// Memory:  64 bytes for each of `levels`, 44 to 48 bytes for each of `orders`, allocated and touched
///          once in the constructor, and again in grow().
class Book {
public:
    struct Options {
        std::uint32_t depth{10};   ///< Levels of a side that the feed sends, or that bids() and asks() show of orders.
        std::uint32_t levels{64};  ///< Capacity of a side: `depth`, and what a group may add before it removes.
        /// Capacity for live orders. If it is not 0, the book is made of order events, and level events are not read.
        std::uint32_t orders{0};
    };

    class Level {
    public:
        feed::Price price{0};
        std::uint64_t size{0};
        std::uint32_t orders{0};  ///< 0 if the feed does not say.

    private:
        friend class Book;
        std::uint32_t first_{0};  // order with the highest priority
        std::uint32_t last_{0};
    };

    using Levels = std::ranges::reverse_view<std::span<const Level>>;

    class Order {
    public:
        std::uint64_t id{0};
        feed::Price price{0};
        std::uint64_t size{0};
        feed::Side side{feed::Side::none};

    private:
        friend class Book;
        std::uint32_t before_{0};  // at the same level
        std::uint32_t behind_{0};
        std::uint32_t chained_{0};  // the next one with the same hash, or the next free one
    };

    /// Counts the causes that made the book incomplete. `crossed` counts groups after which a bid was not below all
    /// asks.
    struct Faults {
        std::uint64_t marked{0};          ///< Events marked incomplete.
        std::uint64_t gaps{0};            ///< Gaps of the channel.
        std::uint64_t missed{0};          ///< Ranges of entries that the reader missed.
        std::uint64_t refused_levels{0};  ///< Levels that did not fit.
        std::uint64_t refused_orders{0};  ///< Orders that did not fit.
        std::uint64_t unknown_orders{0};  ///< Changes of orders that are not in the book.
        std::uint64_t wrong_orders{0};    ///< Orders added twice, without a side or size, or with another size left.
        std::uint64_t crossed{0};

        friend constexpr Faults operator-(const Faults& now, const Faults& before) noexcept {
            return {.marked = now.marked - before.marked,
                    .gaps = now.gaps - before.gaps,
                    .missed = now.missed - before.missed,
                    .refused_levels = now.refused_levels - before.refused_levels,
                    .refused_orders = now.refused_orders - before.refused_orders,
                    .unknown_orders = now.unknown_orders - before.unknown_orders,
                    .wrong_orders = now.wrong_orders - before.wrong_orders,
                    .crossed = now.crossed - before.crossed};
        }
    };

    /// Options for the books of a feed that sends `depth` levels of a side, 1..kMaxBoardDepth. A group may replace all
    /// levels, and adds the new ones before it removes the old.
    [[nodiscard]] static constexpr Options options_of_levels(std::uint32_t depth) noexcept {
        return {.depth = depth, .levels = 2 * depth + 2};
    }

    /// Throws std::invalid_argument for an option out of its range.
    explicit Book(const Options& options, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// True if another order or level may not fit.
    [[nodiscard]] bool is_full() const noexcept { return is_full_of_levels() || is_full_of_orders(); }
    /// Doubles the capacity that is full, up to these. O(orders and levels). Throws what the memory resource throws;
    /// the book is then as before.
    void grow(std::uint32_t max_levels, std::uint32_t max_orders);

    /// Applies an event. True if a group ends with it: only then do bids() and asks() fit together.
    bool apply(const feed::Order& order) noexcept;
    bool apply(const feed::Level& level) noexcept;
    bool apply(const feed::Quote& quote) noexcept { return end_of_event(quote.flags); }
    bool apply(const feed::Trade& trade) noexcept { return end_of_event(trade.flags); }
    bool apply(const feed::Clear& clear) noexcept;
    bool apply(const feed::Gap& gap) noexcept;
    bool apply(const queue::MissedRange& missed) noexcept;

    /// True if no group is open and nothing is missing.
    [[nodiscard]] bool complete() const noexcept { return !open_ && !incomplete_; }
    /// True between the first event of a group and its last one.
    [[nodiscard]] bool is_open() const noexcept { return open_; }
    /// True if something is missing.
    [[nodiscard]] bool is_incomplete() const noexcept { return incomplete_; }
    [[nodiscard]] bool is_of_orders() const noexcept { return !orders_.empty(); }
    [[nodiscard]] const Faults& faults() const noexcept { return faults_; }

    /// The levels of a side, the best one first; at most `depth`. Valid until the next apply.
    [[nodiscard]] Levels bids() const noexcept { return shown(bids_); }
    [[nodiscard]] Levels asks() const noexcept { return shown(asks_); }

    /// All levels that are kept of a side, also those behind `depth`; the worst one first. Valid until the next apply.
    [[nodiscard]] std::span<const Level> kept(feed::Side side) const noexcept {
        const auto& of = side == feed::Side::bid ? bids_ : asks_;
        return std::span{of.levels}.first(of.count);
    }

    /// Null if there is no such order. Valid until the next apply.
    [[nodiscard]] const Order* order(std::uint64_t id) const noexcept {
        const auto index = find(id);
        return index == kNone ? nullptr : &orders_[index];
    }
    /// Calls visit(order) for each order of a level of the book, from the highest priority to the lowest.
    template <class Visitor>
    void visit_orders(const Level& level, Visitor&& visitor) const {
        if (orders_.empty()) return;
        for (auto index = level.first_; index != kNone; index = orders_[index].behind_) visitor(orders_[index]);
    }
    [[nodiscard]] std::size_t live_orders() const noexcept { return live_; }

private:
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    [[nodiscard]] bool is_full_of_levels() const noexcept {
        return std::max(bids_.count, asks_.count) == bids_.levels.size();
    }
    [[nodiscard]] bool is_full_of_orders() const noexcept { return !orders_.empty() && live_ == orders_.size(); }

    /// Levels from the worst to the best, so that what happens near the best one moves little.
    struct LevelsOfSide {
        LevelsOfSide(std::size_t capacity, feed::Price flip, std::pmr::memory_resource* memory)
            : levels(capacity, Level{}, memory), flip_bits(flip) {}

        std::pmr::vector<Level> levels;
        std::size_t count{0};
        feed::Price flip_bits;  ///< 0 for bids, -1 for asks: turns a price into a key whose largest is the best.

        [[nodiscard]] feed::Price key_at(std::size_t index) const noexcept { return levels[index].price ^ flip_bits; }
        [[nodiscard]] Level* end() noexcept { return levels.data() + count; }
        /// Index of the level, or of the one before which it would be inserted.
        [[nodiscard]] std::size_t place_of(feed::Price price) const noexcept;
        [[nodiscard]] bool has(std::size_t place, feed::Price price) const noexcept {
            return place < count && levels[place].price == price;
        }
        /// Null if it does not fit.
        [[nodiscard]] Level* insert(std::size_t place, feed::Price price) noexcept;
        void erase(std::size_t place) noexcept;
        void trim(std::size_t depth) noexcept;
    };

    [[nodiscard]] static Options checked(const Options& options);
    [[nodiscard]] LevelsOfSide& side_of(feed::Side side) noexcept { return side == feed::Side::bid ? bids_ : asks_; }
    [[nodiscard]] Levels shown(const LevelsOfSide& side) const noexcept {
        const auto count = std::min(side.count, depth_);
        return Levels{std::span{side.levels}.subspan(side.count - count, count)};
    }

    /// Handles the flags of an event, after its change.
    bool end_of_event(std::uint16_t flags) noexcept;
    void lose(std::uint64_t& cause) noexcept {
        ++cause;
        incomplete_ = true;
    }
    void empty() noexcept;
    /// Empties the book. incomplete: more than the following events say may exist.
    void restart(bool incomplete) noexcept {
        empty();
        incomplete_ = incomplete;
    }

    void change(const feed::Order& event) noexcept;
    void add(const feed::Order& event) noexcept;
    void modify(std::uint32_t index, const feed::Order& event) noexcept;
    void reduce(std::uint32_t index, const feed::Order& event) noexcept;
    /// Puts an order behind the others at its price. Returns false if a new level or its total does not fit.
    [[nodiscard]] bool append(std::uint32_t index) noexcept;
    /// Removes an order from its level.
    void unlink(std::uint32_t index) noexcept;
    /// Removes an order from the book.
    void remove(std::uint32_t index) noexcept;

    [[nodiscard]] std::uint32_t& bucket_of(std::uint64_t id) noexcept { return buckets_[hash(id)]; }
    [[nodiscard]] std::size_t hash(std::uint64_t id) const noexcept {
        constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;  // Fibonacci hashing
        return static_cast<std::size_t>(id * kOdd >> shift_);
    }
    [[nodiscard]] std::uint32_t find(std::uint64_t id) const noexcept {
        if (buckets_.empty()) return kNone;
        auto index = buckets_[hash(id)];
        while (index != kNone && orders_[index].id != id) index = orders_[index].chained_;
        return index;
    }

    std::size_t depth_;
    bool open_{false};
    bool incomplete_{true};
    LevelsOfSide bids_;
    LevelsOfSide asks_;
    std::pmr::vector<Order> orders_;
    std::pmr::vector<std::uint32_t> buckets_;
    int shift_{63};
    std::uint32_t free_{kNone};
    std::uint32_t used_{0};  // orders_ below it have been used since the book was emptied
    std::size_t live_{0};
    Faults faults_;
};

inline Book::Options Book::checked(const Options& options) {
    constexpr std::uint32_t kMax = 1U << 28;
    const auto refuse = [](const char* option, std::uint64_t value, std::uint64_t least) {
        throw std::invalid_argument("book: " + std::string{option} + " " + std::to_string(value) + " is not in " +
                                    std::to_string(least) + ".." + std::to_string(kMax));
    };
    const auto least = options.depth == feed::kFullDepth ? 1 : options.depth;
    if (options.depth == 0 || (options.depth > kMax && options.depth != feed::kFullDepth))
        refuse("depth", options.depth, 1);
    if (options.levels < least || options.levels > kMax) refuse("levels", options.levels, least);
    if (options.orders > kMax) refuse("orders", options.orders, 0);
    return options;
}

inline Book::Book(const Options& options, std::pmr::memory_resource* memory)
    : depth_(checked(options).depth),
      bids_(options.levels, 0, memory),
      asks_(options.levels, -1, memory),
      orders_(options.orders, Order{}, memory),
      buckets_(options.orders == 0 ? 0 : std::bit_ceil(std::max(options.orders, 2U)), kNone, memory) {
    if (!buckets_.empty()) shift_ = 64 - std::countr_zero(buckets_.size());
}

inline void Book::grow(std::uint32_t max_levels, std::uint32_t max_orders) {
    if (is_full_of_levels()) {
        const auto levels = std::max(bids_.levels.size(), std::min<std::size_t>(2 * bids_.levels.size(), max_levels));
        asks_.levels.resize(levels);
        bids_.levels.resize(levels);
    }
    const auto orders = std::min<std::size_t>(2 * orders_.size(), max_orders);
    if (!is_full_of_orders() || orders <= orders_.size()) return;
    const auto buckets = std::bit_ceil(std::max<std::size_t>(orders, 2));
    orders_.reserve(orders);
    buckets_.reserve(buckets);
    orders_.resize(orders);
    buckets_.assign(buckets, kNone);
    shift_ = 64 - std::countr_zero(buckets);
    for (const auto* side : {&bids_, &asks_}) {
        for (std::size_t place = 0; place < side->count; ++place) {
            for (auto index = side->levels[place].first_; index != kNone; index = orders_[index].behind_)
                orders_[index].chained_ = std::exchange(bucket_of(orders_[index].id), index);
        }
    }
}

inline bool Book::apply(const feed::Order& order) noexcept {
    if (!orders_.empty()) change(order);
    return end_of_event(order.flags);
}

inline bool Book::apply(const feed::Level& level) noexcept {
    if (!orders_.empty()) return end_of_event(level.flags);
    if (level.side != feed::Side::bid && level.side != feed::Side::ask) {
        restart(false);
        return end_of_event(level.flags);
    }
    auto& side = side_of(level.side);
    const auto place = side.place_of(level.price);
    const bool exists = side.has(place, level.price);
    if (level.size == 0) {
        if (exists) side.erase(place);
    } else if (auto* const entry = exists ? &side.levels[place] : side.insert(place, level.price)) {
        entry->size = level.size;
        entry->orders = level.orders;
    } else {
        lose(faults_.refused_levels);
    }
    return end_of_event(level.flags);
}

inline bool Book::apply(const feed::Clear& clear) noexcept {
    restart((clear.flags & feed::kIncomplete) != 0);
    open_ = false;
    return true;
}

inline bool Book::apply(const feed::Gap&) noexcept {
    lose(faults_.gaps);
    open_ = false;
    return true;
}

inline bool Book::apply(const queue::MissedRange&) noexcept {
    lose(faults_.missed);
    open_ = false;
    return true;
}

inline bool Book::end_of_event(std::uint16_t flags) noexcept {
    if ((flags & feed::kIncomplete) != 0) lose(faults_.marked);
    open_ = (flags & feed::kLast) == 0;
    if (open_) return false;
    if (orders_.empty()) {
        bids_.trim(depth_);
        asks_.trim(depth_);
    }
    const bool both = bids_.count != 0 && asks_.count != 0;
    if (both && bids_.end()[-1].price >= asks_.end()[-1].price) ++faults_.crossed;
    return true;
}

inline void Book::empty() noexcept {
    bids_.count = asks_.count = 0;
    std::ranges::fill(buckets_, kNone);
    free_ = kNone;
    used_ = 0;
    live_ = 0;
}

inline void Book::change(const feed::Order& event) noexcept {
    using Action = feed::OrderAction;
    if (event.action == Action::clear) return restart(false);
    if (event.action == Action::add) return add(event);
    const auto index = find(event.order_id);
    if (index == kNone) return lose(faults_.unknown_orders);
    switch (event.action) {
        case Action::modify: return modify(index, event);
        case Action::cancel:
        case Action::execute: return reduce(index, event);
        case Action::remove: return remove(index);
        default: lose(faults_.wrong_orders);
    }
}

inline void Book::add(const feed::Order& event) noexcept {
    const bool has_side = event.side == feed::Side::bid || event.side == feed::Side::ask;
    if (!has_side || event.size == 0 || find(event.order_id) != kNone) return lose(faults_.wrong_orders);
    if (live_ == orders_.size()) return lose(faults_.refused_orders);
    const auto index = free_ != kNone ? std::exchange(free_, orders_[free_].chained_) : used_++;
    auto& order = orders_[index];
    order.id = event.order_id;
    order.price = event.price;
    order.size = event.size;
    order.side = event.side;
    ++live_;
    order.chained_ = std::exchange(bucket_of(order.id), index);
    if (append(index)) return;
    order.size = 0;
    remove(index);
}

inline void Book::modify(std::uint32_t index, const feed::Order& event) noexcept {
    auto& order = orders_[index];
    if (event.size_left == 0 || event.side != order.side) return lose(faults_.wrong_orders);
    if (event.price == order.price && (event.flags & feed::kPriorityLost) == 0) {
        auto& side = side_of(order.side);
        auto& level = side.levels[side.place_of(order.price)];
        const auto others = level.size - order.size;
        if (others + event.size_left < others) return lose(faults_.wrong_orders);
        level.size = others + event.size_left;
        order.size = event.size_left;
        return;
    }
    unlink(index);
    order.price = event.price;
    order.size = event.size_left;
    if (append(index)) return;
    order.size = 0;
    remove(index);
}

inline void Book::reduce(std::uint32_t index, const feed::Order& event) noexcept {
    auto& order = orders_[index];
    if (event.size > order.size || order.size - event.size != event.size_left) lose(faults_.wrong_orders);
    const auto left = std::min(event.size_left, order.size);
    if (left == 0) return remove(index);
    auto& side = side_of(order.side);
    side.levels[side.place_of(order.price)].size -= order.size - left;
    order.size = left;
}

inline bool Book::append(std::uint32_t index) noexcept {
    auto& order = orders_[index];
    auto& side = side_of(order.side);
    const auto place = side.place_of(order.price);
    if (!side.has(place, order.price)) {
        auto* const level = side.insert(place, order.price);
        if (level == nullptr) {
            lose(faults_.refused_levels);
            return false;
        }
        level->size = order.size;
        level->orders = 1;
        level->first_ = level->last_ = index;
        order.before_ = order.behind_ = kNone;
        return true;
    }
    auto& level = side.levels[place];
    if (level.size + order.size < order.size) {
        lose(faults_.wrong_orders);
        return false;
    }
    level.size += order.size;
    ++level.orders;
    order.before_ = level.last_;
    order.behind_ = kNone;
    orders_[level.last_].behind_ = index;
    level.last_ = index;
    return true;
}

inline void Book::unlink(std::uint32_t index) noexcept {
    auto& order = orders_[index];
    auto& side = side_of(order.side);
    const auto place = side.place_of(order.price);
    auto& level = side.levels[place];
    (order.before_ == kNone ? level.first_ : orders_[order.before_].behind_) = order.behind_;
    (order.behind_ == kNone ? level.last_ : orders_[order.behind_].before_) = order.before_;
    level.size -= order.size;
    if (--level.orders == 0) side.erase(place);
}

inline void Book::remove(std::uint32_t index) noexcept {
    auto& order = orders_[index];
    if (order.size != 0) unlink(index);  // otherwise it is in no level
    auto* link = &bucket_of(order.id);
    while (*link != index) link = &orders_[*link].chained_;
    *link = order.chained_;
    order.chained_ = std::exchange(free_, index);
    --live_;
}

inline std::size_t Book::LevelsOfSide::place_of(feed::Price price) const noexcept {
    constexpr std::size_t kNear = 8;  // most changes are close to the best level
    const auto key = price ^ flip_bits;
    auto place = count;
    const auto far = count > kNear ? count - kNear : 0;
    while (place > far && key_at(place - 1) >= key) --place;
    if (place > far || far == 0) return place;
    const auto deep = std::span{levels}.first(far);
    const auto found =
        std::ranges::lower_bound(deep, key, {}, [&](const Level& level) { return level.price ^ flip_bits; });
    return static_cast<std::size_t>(found - deep.begin());
}

inline Book::Level* Book::LevelsOfSide::insert(std::size_t place, feed::Price price) noexcept {
    if (count == levels.size()) return nullptr;
    std::copy_backward(levels.data() + place, end(), end() + 1);
    ++count;
    levels[place].price = price;
    return &levels[place];
}

inline void Book::LevelsOfSide::erase(std::size_t place) noexcept {
    std::copy(levels.data() + place + 1, end(), levels.data() + place);
    --count;
}

inline void Book::LevelsOfSide::trim(std::size_t depth) noexcept {
    if (count <= depth) return;
    std::copy(end() - depth, end(), levels.data());
    count = depth;
}

}  // namespace millpond::market
