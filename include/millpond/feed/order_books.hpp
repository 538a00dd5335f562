#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/prefetch.hpp>
#include <millpond/feed/detail/price_levels.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/order_store.hpp>

namespace millpond::feed {

/// The orders of all instruments of one channel, and the best bid and offer of each instrument's book.
///
/// A book is complete until mark_incomplete reports a loss; clear makes all books empty and complete.
///
/// Cost:    a change touches one order (one cache miss, see prefetch), the book (one cache line) and one level, whose
///          cost PriceLevels states.
/// Threads: one.
/// Memory:  OrderStore, LevelPool and 64 bytes per book, allocated and touched once in the constructor; more only with
///          Options::growth.
class OrderBooks {
public:
    struct Options {
        std::size_t books{1'024};         ///< Instruments, 1..65,536.
        std::size_t orders{1U << 20};     ///< Live orders of all books.
        std::size_t level_chunks{8'192};  ///< Each holds 64 price levels of a side; the best level is in the book.
        /// Factor by which `orders` and `level_chunks` each may grow; they double when they are full. Growing allocates
        /// and moves: above 1 only for readers of files, not for receive paths.
        std::size_t growth{1};
    };

    /// Best bid and offer; a side without orders has price and size 0.
    struct Top {
        std::uint32_t bid_price{0};
        std::uint32_t ask_price{0};
        std::uint64_t bid_size{0};
        std::uint64_t ask_size{0};

        /// Branch-free, because the field that differs is unpredictable.
        friend bool operator==(const Top& one, const Top& other) noexcept {
            return ((one.bid_price ^ other.bid_price) | (one.ask_price ^ other.ask_price) |
                    (one.bid_size ^ other.bid_size) | (one.ask_size ^ other.ask_size)) == 0;
        }
    };

    enum class Outcome : std::uint8_t {
        done,
        unknown_order,    ///< Unknown order. The change had no effect.
        duplicate_order,  ///< Existing order. The change had no effect.
        full,  ///< Orders, levels or the level's total are full. The change had no effect, except that a replacement
               ///< has removed the old order.
        too_many_shares,  ///< The order had fewer shares and was removed.
        price_too_high,   ///< A book cannot hold the price. The change had no effect.
    };

    /// Throws std::invalid_argument if an option is out of range.
    explicit OrderBooks(const Options& options, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// Adds an order. shares: 1 or more.
    [[nodiscard]] Outcome add(std::uint16_t book, std::uint64_t number, bool is_bid, std::uint32_t shares,
                              std::uint32_t price) noexcept;
    /// Reduces the order by shares, and removes it if none are left.
    [[nodiscard]] Outcome reduce(std::uint64_t number, std::uint32_t shares) noexcept;
    [[nodiscard]] Outcome remove(std::uint64_t number) noexcept;
    /// Replaces an order by a new one in the same book on the same side, as one change. shares: 1 or more.
    [[nodiscard]] Outcome replace(std::uint64_t number, std::uint64_t new_number, std::uint32_t shares,
                                  std::uint32_t price) noexcept;

    /// Sets the shares of a level, for books of levels without orders. shares: 0 removes the level.
    [[nodiscard]] Outcome set_level(std::uint16_t book, bool is_bid, std::uint32_t price,
                                    std::uint32_t shares) noexcept;

    /// An order found in these books. Valid until the next change.
    using Found = OrderStore::Order;
    /// Returns nullptr if there is no such order.
    [[nodiscard]] Found* find(std::uint64_t number) noexcept { return orders_.find(number); }
    [[nodiscard]] const Found* find(std::uint64_t number) const noexcept { return orders_.find(number); }
    /// These overloads change an order that was found before.
    [[nodiscard]] Outcome reduce(Found& order, std::uint32_t shares) noexcept;
    [[nodiscard]] Outcome remove(Found& order) noexcept { return reduce(order, order.shares); }
    [[nodiscard]] Outcome replace(Found& order, std::uint64_t new_number, std::uint32_t shares,
                                  std::uint32_t price) noexcept;

    /// Prefetches an order and a book. For several changes, prefetch first the orders and books of all, then the keys
    /// of all levels, then the totals of all.
    void prefetch(std::uint64_t number) const noexcept { orders_.prefetch(number); }
    void prefetch_book(std::uint16_t book) const noexcept { core::prefetch_for_write(&books_[book]); }
    /// A prefetched level; side is null if its change accesses only the book.
    struct LevelAhead {
        const PriceLevels* side{nullptr};
        std::uint32_t key{0};
    };
    [[nodiscard]] LevelAhead prefetch_keys(std::uint16_t book, bool is_bid, std::uint32_t price) const noexcept {
        const auto& side = is_bid ? books_[book].bids : books_[book].asks;
        const auto key = key_of(is_bid, price);
        if (books_[book].generation != generation_ || !side.is_behind(key)) return {};
        side.prefetch_keys(levels_);
        return {&side, key};
    }
    void prefetch_totals(const LevelAhead& level) const noexcept {
        if (level.side != nullptr) level.side->prefetch_totals(levels_, level.key);
    }

    [[nodiscard]] Top top(std::uint16_t book) const noexcept;
    [[nodiscard]] bool is_complete(std::uint16_t book) const noexcept {
        return books_[book].generation != generation_ || books_[book].complete;
    }
    void mark_incomplete(std::uint16_t book) noexcept {
        if (std::exchange(current(book).complete, false)) ++incomplete_;
    }
    void mark_complete(std::uint16_t book) noexcept {
        if (!std::exchange(current(book).complete, true)) --incomplete_;
    }
    /// Number of incomplete books.
    [[nodiscard]] std::size_t incomplete() const noexcept { return incomplete_; }

    /// Makes all books empty and complete, in O(level chunks).
    void clear() noexcept;

    /// A price level; one without shares does not exist.
    struct Level {
        std::uint32_t price{0};
        std::uint32_t orders{0};
        std::uint64_t shares{0};
    };
    [[nodiscard]] Level level(std::uint16_t book, bool is_bid, std::uint32_t price) const noexcept {
        const auto& side = side_of(book, is_bid);
        return books_[book].generation == generation_ ? level_of(is_bid, side.find(levels_, key_of(is_bid, price)))
                                                      : Level{};
    }
    /// place: 0 for the best.
    [[nodiscard]] Level level_at(std::uint16_t book, bool is_bid, std::size_t place) const noexcept {
        const auto& side = side_of(book, is_bid);
        return books_[book].generation == generation_ ? level_of(is_bid, side.at(levels_, place)) : Level{};
    }
    /// True if a level of that price is, or would be, behind the best `places` levels, 1 or more.
    [[nodiscard]] bool is_behind(std::uint16_t book, bool is_bid, std::uint32_t price,
                                 std::size_t places) const noexcept {
        return books_[book].generation == generation_ &&
               side_of(book, is_bid).is_behind(levels_, key_of(is_bid, price), places);
    }
    [[nodiscard]] std::size_t levels(std::uint16_t book, bool is_bid) const noexcept {
        return books_[book].generation == generation_ ? side_of(book, is_bid).size(levels_) : 0;
    }
    /// Calls visit(level) for the levels of a side, from the best to the worst, at most `most` times.
    template <class Visitor>
    void visit_levels(std::uint16_t book, bool is_bid, Visitor&& visitor,
                      std::size_t most = std::numeric_limits<std::size_t>::max()) const;
    /// Visits the orders of all books in parts, as OrderStore::visit. left: order_slots() for the first part.
    template <class Visitor>
    [[nodiscard]] std::size_t visit_orders(std::size_t left, std::size_t most, Visitor&& visitor) const {
        return orders_.visit(left, most, std::forward<Visitor>(visitor));
    }
    [[nodiscard]] std::size_t order_slots() const noexcept { return orders_.slots(); }

    [[nodiscard]] std::size_t live_orders() const noexcept { return orders_.size(); }
    /// True if no order or level has been set, and no book marked, since `clear`. O(books).
    [[nodiscard]] bool is_unchanged() const noexcept {
        return std::ranges::none_of(books_, [this](const Book& book) { return book.generation == generation_; });
    }
    [[nodiscard]] std::size_t books() const noexcept { return books_.size(); }

private:
    struct alignas(core::kCacheLine) Book {
        PriceLevels bids;
        PriceLevels asks;
        std::uint32_t generation{0};  // generation of the last clear that was applied
        bool complete{true};
    };
    static_assert(sizeof(Book) == core::kCacheLine);

    [[nodiscard]] static std::size_t checked(const Options& options);
    /// Adds an order. vacancy: that of the order's number.
    [[nodiscard]] Outcome put(Found* vacancy, const Found& order) noexcept;
    [[nodiscard]] static std::uint32_t key_of(bool is_bid, std::uint32_t price) noexcept {
        return is_bid ? price : ~price;
    }
    [[nodiscard]] Book& current(std::uint16_t book) noexcept;
    [[nodiscard]] static Level level_of(bool is_bid, const PriceLevels::Level& level) noexcept {
        if (level.total == 0) return {};
        return {key_of(is_bid, level.key), LevelTotal::orders(level.total), LevelTotal::shares(level.total)};
    }
    [[nodiscard]] const PriceLevels& side_of(std::uint16_t book, bool is_bid) const noexcept {
        return is_bid ? books_[book].bids : books_[book].asks;
    }
    [[nodiscard]] PriceLevels& side(std::uint16_t book, bool is_bid) noexcept {
        auto& found = current(book);
        return is_bid ? found.bids : found.asks;
    }

    [[nodiscard, gnu::cold]] bool grow_orders() noexcept;
    [[nodiscard, gnu::cold]] bool grow_levels() noexcept;

    std::uint32_t generation_{1};
    std::size_t incomplete_{0};
    std::size_t max_orders_;
    std::size_t max_chunks_;
    std::pmr::vector<Book> books_;  // first: its initializer checks the options
    OrderStore orders_;
    LevelPool levels_;
};

inline std::size_t OrderBooks::checked(const Options& options) {
    constexpr std::size_t kMax = 65'536;
    if (options.books == 0 || options.books > kMax) {
        throw std::invalid_argument("order book: " + std::to_string(options.books) + " books is not in 1.." +
                                    std::to_string(kMax));
    }
    return options.books;
}

inline OrderBooks::OrderBooks(const Options& options, std::pmr::memory_resource* memory)
    : max_orders_(options.orders * options.growth),
      max_chunks_(options.level_chunks * options.growth),
      books_(checked(options), Book{}, memory),
      orders_(options.orders, memory),
      levels_(options.level_chunks, memory) {}

inline OrderBooks::Book& OrderBooks::current(std::uint16_t book) noexcept {
    auto& found = books_[book];
    if (found.generation != generation_) {
        found.generation = generation_;
        found.complete = true;
        found.bids.forget();
        found.asks.forget();
    }
    return found;
}

inline OrderBooks::Outcome OrderBooks::add(std::uint16_t book, std::uint64_t number, bool is_bid, std::uint32_t shares,
                                           std::uint32_t price) noexcept {
    auto* const vacancy = orders_.vacancy(number);
    return vacancy == nullptr ? Outcome::duplicate_order : put(vacancy, {number, price, shares, 0, book, is_bid});
}

inline OrderBooks::Outcome OrderBooks::put(Found* vacancy, const Found& order) noexcept {
    assert(order.shares != 0);
    if (orders_.size() == orders_.capacity()) [[unlikely]] {
        if (!grow_orders()) return Outcome::full;
        vacancy = orders_.vacancy(order.number);
    }
    const auto key = key_of(order.is_bid, order.price);
    const auto total = LevelTotal::kOneOrder | order.shares;
    auto& levels = side(order.book, order.is_bid);
    if (!levels.add(levels_, key, total)) [[unlikely]] {
        if (!grow_levels() || !levels.add(levels_, key, total)) return Outcome::full;
    }
    orders_.fill(vacancy, order);
    return Outcome::done;
}

inline bool OrderBooks::grow_orders() noexcept {
    const auto now = orders_.capacity();
    return now < max_orders_ && orders_.try_grow(std::min(2 * now, max_orders_));
}

/// A side may itself be full, which more chunks do not change.
inline bool OrderBooks::grow_levels() noexcept {
    const auto now = levels_.chunks();
    return levels_.is_exhausted() && now < max_chunks_ && levels_.try_grow(std::min(2 * now, max_chunks_));
}

inline OrderBooks::Outcome OrderBooks::reduce(std::uint64_t number, std::uint32_t shares) noexcept {
    auto* const order = orders_.find(number);
    return order == nullptr ? Outcome::unknown_order : reduce(*order, shares);
}

inline OrderBooks::Outcome OrderBooks::remove(std::uint64_t number) noexcept {
    auto* const order = orders_.find(number);
    return order == nullptr ? Outcome::unknown_order : remove(*order);
}

inline OrderBooks::Outcome OrderBooks::reduce(Found& order, std::uint32_t shares) noexcept {
    const bool too_many = shares > order.shares;
    const auto removed = too_many ? order.shares : shares;
    const auto gone = std::uint64_t{removed == order.shares} << LevelTotal::kSharesBits;
    side(order.book, order.is_bid).reduce(levels_, key_of(order.is_bid, order.price), gone | removed);
    order.shares -= removed;
    if (gone != 0) orders_.erase(&order);
    return too_many ? Outcome::too_many_shares : Outcome::done;
}

inline OrderBooks::Outcome OrderBooks::replace(std::uint64_t number, std::uint64_t new_number, std::uint32_t shares,
                                               std::uint32_t price) noexcept {
    auto* const order = orders_.find(number);
    return order == nullptr ? Outcome::unknown_order : replace(*order, new_number, shares, price);
}

inline OrderBooks::Outcome OrderBooks::replace(Found& order, std::uint64_t new_number, std::uint32_t shares,
                                               std::uint32_t price) noexcept {
    if (new_number != order.number && orders_.find(new_number) != nullptr) return Outcome::duplicate_order;
    const Found next{new_number, price, shares, 0, order.book, order.is_bid};
    (void)remove(order);
    return put(orders_.vacancy(new_number), next);
}

inline OrderBooks::Outcome OrderBooks::set_level(std::uint16_t book, bool is_bid, std::uint32_t price,
                                                 std::uint32_t shares) noexcept {
    auto& levels = side(book, is_bid);
    const auto key = key_of(is_bid, price);
    const auto now = levels.find(levels_, key).total;
    if (shares < now) {
        levels.reduce(levels_, key, now - shares);
    } else if (shares > now && !levels.add(levels_, key, shares - now)) [[unlikely]] {
        if (!grow_levels() || !levels.add(levels_, key, shares - now)) return Outcome::full;
    }
    return Outcome::done;
}

inline OrderBooks::Top OrderBooks::top(std::uint16_t book) const noexcept {
    const auto& found = books_[book];
    Top top;
    if (found.generation != generation_) return top;
    const auto bid = found.bids.best();
    const auto ask = found.asks.best();
    top.bid_size = LevelTotal::shares(bid.total);
    top.bid_price = bid.key;
    top.ask_size = LevelTotal::shares(ask.total);
    top.ask_price = ask.total != 0 ? ~ask.key : 0;
    return top;
}

inline void OrderBooks::clear() noexcept {
    ++generation_;
    incomplete_ = 0;
    orders_.clear();
    levels_.reset();
}

template <class Visitor>
void OrderBooks::visit_levels(std::uint16_t book, bool is_bid, Visitor&& visitor, std::size_t most) const {
    if (books_[book].generation != generation_) return;
    side_of(book, is_bid)
        .visit(levels_, [&](const PriceLevels::Level& level) { visitor(level_of(is_bid, level)); }, most);
}

}  // namespace millpond::feed
