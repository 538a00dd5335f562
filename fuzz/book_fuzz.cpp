#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <span>

#include <millpond/feed/event.hpp>
#include <millpond/market/book.hpp>

#include "fuzz/fuzz_target.hpp"

namespace {

using millpond::market::Book;
namespace feed = millpond::feed;

constexpr std::uint32_t kDepth = 3;
constexpr std::uint32_t kLevels = 6;

struct Input {
    std::uint8_t kind, flags, action, side;
    std::uint8_t id, size, left;
    std::int8_t price;
};

/// Levels as ordered maps.
struct Model {
    std::map<feed::Price, std::uint64_t> sides[2];

    void clear() {
        for (auto& side : sides) side.clear();
    }
    void apply(const feed::Level& level) {
        if (level.side != feed::Side::bid && level.side != feed::Side::ask) return clear();
        auto& side = sides[level.side == feed::Side::ask];
        if (level.size == 0) {
            side.erase(level.price);
        } else {
            side[level.price] = level.size;
        }
    }
    void trim() {
        while (sides[0].size() > kDepth) sides[0].erase(sides[0].begin());
        while (sides[1].size() > kDepth) sides[1].erase(std::prev(sides[1].end()));
    }
};

void require(bool holds, const char* promise) {
    if (!holds) feed::require_kept(promise);
}

void check(const Book& book, bool of_orders) {
    require(!book.complete() || !book.is_open(), "an open group is not complete");
    for (const bool is_bid : {true, false}) {
        const auto levels = is_bid ? book.bids() : book.asks();
        const Book::Level* better = nullptr;
        for (const auto& level : levels) {
            require(level.size != 0, "a level has a size");
            require(better == nullptr || (is_bid ? better->price > level.price : better->price < level.price),
                    "levels are in order");
            better = &level;
            if (!of_orders) continue;
            std::uint64_t size = 0;
            std::uint32_t orders = 0;
            book.visit_orders(level, [&](const Book::Order& order) {
                size += order.size;
                ++orders;
                require(book.order(order.id) == &order, "an order is found by its number");
                require(order.price == level.price, "an order is at its level");
            });
            require(size == level.size && orders == level.orders, "a level is the sum of its orders");
        }
    }
}

void compare(const Book& book, const Model& model) {
    auto bid = model.sides[0].rbegin();
    for (const auto& level : book.bids()) {
        require(bid != model.sides[0].rend() && bid->first == level.price && bid->second == level.size, "same bids");
        ++bid;
    }
    auto ask = model.sides[1].begin();
    for (const auto& level : book.asks()) {
        require(ask != model.sides[1].end() && ask->first == level.price && ask->second == level.size, "same asks");
        ++ask;
    }
    require(bid == model.sides[0].rend() && ask == model.sides[1].end(), "as many levels");
}

}  // namespace

/// Events of any order and contents: a book that says it is complete equals the model.
MILLPOND_FUZZ_TARGET {
    Book of_levels{{.depth = kDepth, .levels = kLevels}};
    Book of_orders{{.depth = kDepth, .levels = kLevels, .orders = 8}};
    Model model;
    const auto apply = [&](const auto& event) {
        of_levels.apply(event);
        of_orders.apply(event);
    };
    for (; input.size() >= sizeof(Input); input = input.subspan(sizeof(Input))) {
        Input in;
        std::memcpy(&in, input.data(), sizeof in);
        std::uint16_t flags = (in.flags & 1U) != 0 ? feed::kLast : 0;
        if ((in.flags & 2U) != 0) flags |= feed::kPriorityLost;
        if ((in.flags & 4U) != 0) flags |= feed::kSnapshot;
        if ((in.flags & 0xF8U) == 8U) flags |= feed::kIncomplete;
        switch (in.kind % 8) {
            case 0: {
                feed::Clear clear;
                clear.flags = flags & feed::kIncomplete;
                apply(clear);
                model.clear();
                break;
            }
            case 1:
                if (in.id == 0) apply(feed::Gap{});
                break;
            case 2: {
                feed::Quote quote;
                quote.flags = flags;
                apply(quote);
                if ((flags & feed::kLast) != 0) model.trim();
                break;
            }
            case 3:
            case 4: {
                feed::Level level;
                level.flags = flags;
                level.side = static_cast<feed::Side>(in.side % 8 == 7 ? 0 : 1 + in.side % 2);
                level.price = in.price;
                level.size = in.size % 4;
                level.orders = in.id;
                of_levels.apply(level);
                model.apply(level);
                if ((flags & feed::kLast) != 0) model.trim();
                break;
            }
            default: {
                feed::Order order;
                order.flags = flags;
                order.action = static_cast<feed::OrderAction>(in.action % 8);
                order.side = static_cast<feed::Side>(in.side % 4);
                order.order_id = in.id % 16;
                order.price = in.price % 8;
                order.size = in.size;
                order.size_left = in.left;
                of_orders.apply(order);
            }
        }
        check(of_levels, false);
        check(of_orders, true);
        if (of_levels.complete()) compare(of_levels, model);
    }
}
