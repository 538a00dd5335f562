#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/memory/region_resource.hpp>

#include "bench/feed/input.hpp"
#include "bench/feed/itch_input.hpp"
#include "bench/feed/stream.hpp"

/// Contenders for decode_stream that decode an OrderFlow into order books of full depth.
namespace millpond::bench {

/// The stream of the shape's flow, which begins with the messages that are not timed.
inline Stream order_stream(const OrderShape& shape) {
    return {.datagrams = itch_datagrams(shape.messages(), shape),
            .warm = shape.warm() / kItchMessagesEach,
            .messages = shape.measured};
}

/// Applies the messages to books of the given kind, which has add(id, book, is_bid, price, shares), and reduce(id,
/// shares) and remove(id), which return the order's price.
template <class Books>
class Walk {
public:
    void operator()(const std::vector<std::byte>& datagram, Sum& sum) {
        namespace mold = feed::moldudp64_layout;
        const auto* at = datagram.data() + mold::kHeaderBytes;
        for (auto count = core::load_be<std::uint16_t>(datagram.data() + mold::kCountAt); count > 0; --count) {
            const auto bytes = core::load_be<std::uint16_t>(at);
            on_message(at + mold::kLengthBytes, sum);
            at += mold::kLengthBytes + bytes;
        }
    }

private:
    void on_message(const std::byte* message, Sum& sum) {
        namespace itch = feed::itch_layout;
        const auto number = [&](std::size_t where) { return core::load_be<std::uint64_t>(message + where); };
        const auto small = [&](std::size_t where) { return core::load_be<std::uint32_t>(message + where); };
        const auto id = number(itch::order_added::kOrderAt);  // at the same offset in all messages about orders
        const auto book = static_cast<std::size_t>(core::load_be<std::uint16_t>(message + itch::kLocateAt) - 1);
        switch (static_cast<char>(message[0])) {
            case 'A':
                books_.add(id, book, static_cast<char>(message[itch::order_added::kSideAt]) == 'B',
                           small(itch::order_added::kPriceAt), small(itch::order_added::kSharesAt));
                break;
            case 'D': books_.remove(id); break;
            case 'E': {
                const auto shares = small(itch::order_executed::kSharesAt);
                feed::Trade trade;
                trade.price = books_.reduce(id, shares);
                trade.size = shares;
                sum.on(trade);
                break;
            }
            case 'X': books_.reduce(id, small(itch::order_reduced::kSharesAt)); break;
            case 'U': {
                const bool is_bid = books_.remove(id);
                books_.add(number(itch::order_replaced::kNewOrderAt), book, is_bid,
                           small(itch::order_replaced::kPriceAt), small(itch::order_replaced::kSharesAt));
                break;
            }
            default: return;
        }
        auto quote = books_.top(book);
        auto& last = last_[book];
        if (quote.bid_price == last.bid_price && quote.ask_price == last.ask_price && quote.bid_size == last.bid_size &&
            quote.ask_size == last.ask_size) {
            return;
        }
        quote.instrument = static_cast<feed::InstrumentId>(book);
        last = quote;
        sum.on(quote);
    }

    Books books_;
    std::vector<feed::Quote> last_ = std::vector<feed::Quote>(Books::kShape.books);
};

/// The bare minimum: an array of orders by number, an array of levels by price, and a bit per level that is set if it
/// has shares. The number of orders and prices is known in advance.
template <OrderShape kBooksShape>
class DenseBooks {
public:
    static constexpr auto kShape = kBooksShape;

    void add(std::uint64_t id, std::size_t book, bool is_bid, std::uint32_t price, std::uint32_t shares) {
        const auto step = static_cast<std::uint32_t>((price - kMinPrice) / kPriceStep);
        orders_[id] = {static_cast<std::uint16_t>(book), static_cast<std::uint8_t>(step), is_bid, shares};
        books_[book].shares[step] += shares;
        books_[book].used[step / 64] |= std::uint64_t{1} << step % 64;
    }
    // Returns the order's price.
    feed::Price reduce(std::uint64_t id, std::uint32_t shares) {
        auto& order = orders_[id];
        auto& book = books_[order.book];
        order.shares -= shares;
        if ((book.shares[order.step] -= shares) == 0) {
            book.used[order.step / 64] &= ~(std::uint64_t{1} << order.step % 64);
        }
        return price_of(order.step);
    }
    // Returns the order's side.
    bool remove(std::uint64_t id) {
        reduce(id, orders_[id].shares);
        return orders_[id].is_bid;
    }
    [[nodiscard]] feed::Quote top(std::size_t number) const {
        const auto& book = books_[number];
        feed::Quote quote;
        if (book.used[0] != 0) {
            const auto step = static_cast<std::uint32_t>(63 - std::countl_zero(book.used[0]));
            quote.bid_price = price_of(step);
            quote.bid_size = book.shares[step];
        }
        if (book.used[1] != 0) {
            const auto step = static_cast<std::uint32_t>(64 + std::countr_zero(book.used[1]));
            quote.ask_price = price_of(step);
            quote.ask_size = book.shares[step];
        }
        return quote;
    }

private:
    struct Order {
        std::uint16_t book;
        std::uint8_t step;
        bool is_bid;
        std::uint32_t shares;
    };
    struct Book {
        std::array<std::uint64_t, 2> used;  // bids, asks
        std::array<std::uint32_t, kPriceSteps> shares;
    };
    static_assert(kPriceSteps == 128);

    static feed::Price price_of(std::uint32_t step) { return feed::price_from<10'000>(kMinPrice + step * kPriceStep); }

    memory::RegionResource memory_{{.huge_pages = memory::HugePages::transparent}};
    std::pmr::vector<Order> orders_{kShape.messages(), &memory_};
    std::pmr::vector<Book> books_{kShape.books, &memory_};
};

/// A usual implementation of a book: a hash map of orders, a tree of levels for each side, and doubles as prices.
template <OrderShape kBooksShape>
class MapBooks {
public:
    static constexpr auto kShape = kBooksShape;

    void add(std::uint64_t id, std::size_t book, bool is_bid, std::uint32_t price, std::uint32_t shares) {
        const auto dollars = price / 10'000.0;
        orders_[id] = {book, dollars, shares, is_bid};
        if (is_bid) {
            books_[book].bids[dollars] += shares;
        } else {
            books_[book].asks[dollars] += shares;
        }
    }
    feed::Price reduce(std::uint64_t id, std::uint32_t shares) {
        const auto found = orders_.find(id);
        auto& order = found->second;
        const auto price = order.price;
        auto& book = books_[order.book];
        const auto reduce_level = [&](auto& levels) {
            const auto level = levels.find(price);
            if ((level->second -= shares) == 0) levels.erase(level);
        };
        if (order.is_bid) {
            reduce_level(book.bids);
        } else {
            reduce_level(book.asks);
        }
        if ((order.shares -= shares) == 0) orders_.erase(found);
        return fixed(price);
    }
    bool remove(std::uint64_t id) {
        const auto order = orders_.at(id);
        reduce(id, order.shares);
        return order.is_bid;
    }
    [[nodiscard]] feed::Quote top(std::size_t number) const {
        const auto& book = books_[number];
        feed::Quote quote;
        if (!book.bids.empty()) {
            quote.bid_price = fixed(book.bids.begin()->first);
            quote.bid_size = book.bids.begin()->second;
        }
        if (!book.asks.empty()) {
            quote.ask_price = fixed(book.asks.begin()->first);
            quote.ask_size = book.asks.begin()->second;
        }
        return quote;
    }

private:
    struct Order {
        std::size_t book;
        double price;
        std::uint32_t shares;
        bool is_bid;
    };
    struct Book {
        std::map<double, std::uint64_t, std::greater<>> bids;
        std::map<double, std::uint64_t> asks;
    };

    static feed::Price fixed(double price) { return std::llround(price * 1e9); }

    std::unordered_map<std::uint64_t, Order> orders_;
    std::vector<Book> books_ = std::vector<Book>(kShape.books);
};

/// ItchDecoder with capacity for twice the orders of a filled shape, and with huge pages like the gateway.
template <OrderShape kShape, memory::HugePages kPages = memory::HugePages::transparent>
struct Decoder {
    memory::RegionResource memory{{.huge_pages = kPages}};
    feed::InstrumentTable instruments{kShape.books};
    feed::ItchDecoder decoder{
        instruments,
        {.order_books = {.books = kShape.books,
                         .orders = kShape.fill_first
                                       ? std::bit_ceil(2 * static_cast<std::uint32_t>(kShape.books * kShape.live_each))
                                       : 1U << 14,
                         .level_chunks = kShape.books * 4}},
        &memory};

    void operator()(const std::vector<std::byte>& datagram, Sum& sum) { (void)decoder.decode(datagram, {}, sum); }
};

/// Like the one above, with several datagrams per read, as when the thread must catch up.
template <OrderShape kShape>
struct DecoderOfTrains : Decoder<kShape> {
    static constexpr std::size_t kTrain = 8;
    void prefetch(const std::vector<std::byte>& datagram) const { this->decoder.prefetch(datagram); }
};

}  // namespace millpond::bench
