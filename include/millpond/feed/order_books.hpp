#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/prefetch.hpp>
#include <millpond/feed/detail/price_levels.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/order_store.hpp>

namespace millpond::feed {

/// The orders of all instruments of one channel, and the best bid and offer that they make in each instrument's book.
///
/// A book is complete until mark_incomplete reports a loss; clear makes all of them empty and complete.
///
/// Cost:    a change touches one order (one cache miss, see prefetch), the book (one cache line) and one level, whose
///          cost PriceLevels states.
/// Threads: one.
/// Memory:  OrderStore, LevelPool and 64 bytes per book, taken and touched once in the constructor; more only with
///          Options::growth.
class OrderBooks {
public:
    struct Options {
        std::size_t books{1'024};         ///< Instruments, 1..65,536.
        std::size_t orders{1U << 20};     ///< Live orders of all books.
        std::size_t level_chunks{8'192};  ///< Each holds 64 price levels of a side, but for its best one.
        /// How many times `orders` and `level_chunks` each may become; they double when they are full. Growing
        /// allocates and moves: above 1 for readers of files, not for receive paths.
        std::size_t growth{1};
    };

    /// The best of both sides; a side without orders has price and size 0.
    struct Top {
        std::uint32_t bid_price{0};
        std::uint32_t ask_price{0};
        std::uint64_t bid_size{0};
        std::uint64_t ask_size{0};

        /// Without branches: which of the four has changed cannot be foreseen.
        friend bool operator==(const Top& one, const Top& other) noexcept {
            return ((one.bid_price ^ other.bid_price) | (one.ask_price ^ other.ask_price) |
                    (one.bid_size ^ other.bid_size) | (one.ask_size ^ other.ask_size)) == 0;
        }
    };

    enum class Outcome : std::uint8_t {
        done,
        unknown_order,    ///< Nothing was changed.
        duplicate_order,  ///< Nothing was changed.
        no_room,          ///< Of orders or levels. Nothing was changed; of a replacement the old order is gone.
        too_many_shares,  ///< More were taken than were there; the order is gone.
    };

    /// Throws std::invalid_argument when an option is out of its range.
    explicit OrderBooks(const Options& options, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// shares: 1 or more.
    [[nodiscard]] Outcome add(std::uint16_t book, std::uint64_t number, bool is_bid, std::uint32_t shares,
                              std::uint32_t price) noexcept;
    /// The order loses shares; without any left it goes.
    [[nodiscard]] Outcome reduce(std::uint64_t number, std::uint32_t shares) noexcept;
    [[nodiscard]] Outcome remove(std::uint64_t number) noexcept;
    /// One change: the new order replaces the old one in its book on its side. shares: 1 or more.
    [[nodiscard]] Outcome replace(std::uint64_t number, std::uint64_t new_number, std::uint32_t shares,
                                  std::uint32_t price) noexcept;

    /// An order of these books, found and not changed since. Valid until the next change.
    using Found = OrderStore::Order;
    /// Null when it is not known.
    [[nodiscard]] Found* find(std::uint64_t number) noexcept { return orders_.find(number); }
    /// As above, of orders that were looked up before.
    [[nodiscard]] Outcome reduce(Found& order, std::uint32_t shares) noexcept;
    [[nodiscard]] Outcome remove(Found& order) noexcept { return reduce(order, order.shares); }
    [[nodiscard]] Outcome replace(Found& order, std::uint64_t new_number, std::uint32_t shares,
                                  std::uint32_t price) noexcept;

    /// Asks for the memory of an order and of a book ahead of their use. For several changes, ask for these of all,
    /// then for the keys of all levels, then for the shares of all.
    void prefetch(std::uint64_t number) const noexcept { orders_.prefetch(number); }
    void prefetch_book(std::uint16_t book) const noexcept { core::prefetch_for_write(&books_[book]); }
    /// A level whose memory is on its way; none when its change needs no more than the book.
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
    void prefetch_shares(const LevelAhead& level) const noexcept {
        if (level.side != nullptr) level.side->prefetch_shares(levels_, level.key);
    }

    [[nodiscard]] Top top(std::uint16_t book) const noexcept;
    [[nodiscard]] bool is_complete(std::uint16_t book) const noexcept {
        return books_[book].generation != generation_ || books_[book].complete;
    }
    void mark_incomplete(std::uint16_t book) noexcept { current(book).complete = false; }

    /// All books become empty and complete, in O(level chunks).
    void clear() noexcept;

    /// Calls visit(price, shares) for each level of a side, from the best to the worst.
    template <class Visitor>
    void visit_levels(std::uint16_t book, bool is_bid, Visitor&& visitor) const;

    [[nodiscard]] std::size_t live_orders() const noexcept { return orders_.size(); }
    [[nodiscard]] std::size_t books() const noexcept { return books_.size(); }

private:
    struct alignas(core::kCacheLine) Book {
        PriceLevels bids;
        PriceLevels asks;
        std::uint32_t generation{0};  // of the last clear that it has seen
        bool complete{true};
    };
    static_assert(sizeof(Book) == core::kCacheLine);

    [[nodiscard]] static std::size_t checked(const Options& options);
    /// vacancy: of the order's number.
    [[nodiscard]] Outcome put(Found* vacancy, const Found& order) noexcept;
    [[nodiscard]] static std::uint32_t key_of(bool is_bid, std::uint32_t price) noexcept {
        return is_bid ? price : ~price;
    }
    [[nodiscard]] Book& current(std::uint16_t book) noexcept;
    [[nodiscard]] PriceLevels& side(std::uint16_t book, bool is_bid) noexcept {
        auto& found = current(book);
        return is_bid ? found.bids : found.asks;
    }

    [[nodiscard, gnu::cold]] bool make_room_for_orders() noexcept;
    [[nodiscard, gnu::cold]] bool make_room_for_levels() noexcept;

    std::uint32_t generation_{1};
    std::size_t most_orders_;
    std::size_t most_chunks_;
    std::pmr::vector<Book> books_;  // first: it is small and checks the options
    OrderStore orders_;
    LevelPool levels_;
};

inline std::size_t OrderBooks::checked(const Options& options) {
    constexpr std::size_t kMost = 65'536;
    if (options.books == 0 || options.books > kMost) {
        throw std::invalid_argument("order book: " + std::to_string(options.books) + " books is not in 1.." +
                                    std::to_string(kMost));
    }
    return options.books;
}

inline OrderBooks::OrderBooks(const Options& options, std::pmr::memory_resource* memory)
    : most_orders_(options.orders * options.growth),
      most_chunks_(options.level_chunks * options.growth),
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
        if (!make_room_for_orders()) return Outcome::no_room;
        vacancy = orders_.vacancy(order.number);
    }
    const auto key = key_of(order.is_bid, order.price);
    auto& levels = side(order.book, order.is_bid);
    if (!levels.add(levels_, key, order.shares)) [[unlikely]] {
        if (!make_room_for_levels() || !levels.add(levels_, key, order.shares)) return Outcome::no_room;
    }
    orders_.fill(vacancy, order);
    return Outcome::done;
}

inline bool OrderBooks::make_room_for_orders() noexcept {
    const auto now = orders_.capacity();
    return now < most_orders_ && orders_.try_grow(std::min(2 * now, most_orders_));
}

/// A side may also be full itself, which more chunks do not help.
inline bool OrderBooks::make_room_for_levels() noexcept {
    const auto now = levels_.chunks();
    return levels_.is_exhausted() && now < most_chunks_ && levels_.try_grow(std::min(2 * now, most_chunks_));
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
    const auto taken = too_many ? order.shares : shares;
    side(order.book, order.is_bid).take(levels_, key_of(order.is_bid, order.price), taken);
    order.shares -= taken;
    if (order.shares == 0) orders_.erase(&order);
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

inline OrderBooks::Top OrderBooks::top(std::uint16_t book) const noexcept {
    const auto& found = books_[book];
    Top top;
    if (found.generation != generation_) return top;
    const auto bid = found.bids.best();
    const auto ask = found.asks.best();
    top.bid_size = bid.shares;
    top.bid_price = bid.key;
    top.ask_size = ask.shares;
    top.ask_price = ask.shares != 0 ? ~ask.key : 0;
    return top;
}

inline void OrderBooks::clear() noexcept {
    ++generation_;
    orders_.clear();
    levels_.reset();
}

template <class Visitor>
void OrderBooks::visit_levels(std::uint16_t book, bool is_bid, Visitor&& visitor) const {
    const auto& found = books_[book];
    if (found.generation != generation_) return;
    (is_bid ? found.bids : found.asks).visit(levels_, [&](const PriceLevels::Level& level) {
        visitor(key_of(is_bid, level.key), level.shares);
    });
}

}  // namespace millpond::feed
