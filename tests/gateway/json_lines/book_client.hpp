#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event.hpp>

#include "tests/gateway/sinks/events.hpp"

namespace millpond::gateway {

/// Price levels of a side, the best one first.
struct BookSide {
    struct Total {
        std::uint64_t size{0};
        std::uint64_t count{0};
        friend bool operator==(const Total&, const Total&) = default;
    };
    std::map<feed::Price, Total, std::function<bool(feed::Price, feed::Price)>> levels;

    explicit BookSide(bool is_bid)
        : levels([is_bid](feed::Price a, feed::Price b) { return is_bid ? a > b : a < b; }) {}

    [[nodiscard]] std::vector<std::pair<feed::Price, Total>> best(std::size_t depth) const {
        return {levels.begin(), std::next(levels.begin(), static_cast<std::ptrdiff_t>(std::min(depth, levels.size())))};
    }
    void trim(std::size_t depth) {
        while (levels.size() > depth) levels.erase(std::prev(levels.end()));
    }
};

/// The text after "key": in a JSON line, up to the next comma or bracket; empty if there is none.
inline std::string_view text_in(std::string_view json, std::string_view key) {
    const auto mark = '"' + std::string{key} + "\":";
    const auto at = json.find(mark);
    if (at == std::string_view::npos) return {};
    const auto rest = json.substr(at + mark.size());
    return rest.substr(0, rest.find_first_of(",}]"));
}

/// The book of one instrument as a client makes it of JSON lines, without code of the sink: every line changes it as
/// docs/guides/gateway-sinks.md says.
struct BookClient {
    explicit BookClient(std::size_t depth_) : depth(depth_) {}

    std::size_t depth;
    BookSide bids{true};
    BookSide asks{false};
    bool complete{false};
    std::uint64_t lasts{0};
    std::uint64_t snapshots{0};
    std::uint64_t books{0};
    std::uint64_t sequence{0};
    /// Orders by price of a side, in the order of their priority: ids and sizes.
    struct Order {
        std::string side;
        feed::Price price;
        std::uint64_t id;
        std::uint64_t size;
        friend bool operator==(const Order&, const Order&) = default;
    };
    std::vector<Order> orders;

    /// Applies a line about the instrument. Returns true if the book is consistent after it.
    bool apply(std::string_view line) {
        const auto type = text_in(line, "type");
        if (type == "\"clear\"") {
            void_all();
            complete = (flags(line) & feed::kIncomplete) == 0;
        }
        if (type == "\"book\"") return replace(line);
        if (type != "\"level\"" && type != "\"order\"") return false;
        sequence = static_cast<std::uint64_t>(number_in(line, "sequence"));
        if (type == "\"level\"") {
            level(line);
        } else {
            order(line);
        }
        if ((flags(line) & feed::kIncomplete) != 0) complete = false;
        if ((flags(line) & feed::kLast) == 0) return false;
        ++lasts;
        bids.trim(depth);
        asks.trim(depth);
        return true;
    }

private:
    static std::uint64_t flags(std::string_view line) {
        const auto value = number_in(line, "flags");
        return value < 0 ? 0 : static_cast<std::uint64_t>(value);
    }
    static feed::Price price(std::string_view line) { return feed::parse_price(text_in(line, "price")).value(); }
    void void_all() {
        bids.levels.clear();
        asks.levels.clear();
        orders.clear();
    }
    void level(std::string_view line) {
        const auto side = text_in(line, "side");
        if (side == "\"none\"") {
            bids.levels.clear();
            asks.levels.clear();
            complete = true;
            ++snapshots;
            return;
        }
        auto& levels = (side == "\"bid\"" ? bids : asks).levels;
        const auto size = static_cast<std::uint64_t>(number_in(line, "size"));
        if (size == 0) {
            levels.erase(price(line));
        } else {
            levels[price(line)] = {size, static_cast<std::uint64_t>(number_in(line, "count"))};
        }
    }
    void order(std::string_view line) {
        const auto action = text_in(line, "action");
        if (action == "\"clear\"") {
            orders.clear();
            complete = true;
            ++snapshots;
            return;
        }
        const auto id = static_cast<std::uint64_t>(number_in(line, "order_id"));
        const auto left = static_cast<std::uint64_t>(number_in(line, "size_left"));
        if (action == "\"add\"") {
            orders.push_back({std::string{text_in(line, "side")}, price(line), id, left});
            return;
        }
        for (auto& one : orders) {
            if (one.id == id) one.size = left;
        }
        std::erase_if(orders, [](const Order& one) { return one.size == 0; });
    }
    bool replace(std::string_view line) {
        void_all();
        ++books;
        sequence = static_cast<std::uint64_t>(number_in(line, "sequence"));
        const auto asks_at = line.find("\"asks\":");
        for (auto at = line.find("{\"price\":"); at != std::string_view::npos; at = line.find("{\"price\":", at + 1)) {
            const auto one = line.substr(at);
            (at < asks_at ? bids : asks).levels[price(one)] = {static_cast<std::uint64_t>(number_in(one, "size")),
                                                               static_cast<std::uint64_t>(number_in(one, "count"))};
        }
        complete = line.ends_with("\"incomplete\":false}");
        return true;
    }
};

}  // namespace millpond::gateway
