#include "apps/millpond/top/book_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <vector>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/json_text.hpp>
#include <millpond/feed/quote_csv.hpp>

namespace millpond::app {
namespace {

using Level = market::Book::Level;

std::string price_text(feed::Price price, unsigned decimals) {
    std::array<char, feed::kMaxPriceChars + feed::kDecimalSlack> text;
    return {text.data(), feed::write_price(text.data(), price, decimals)};
}

std::vector<Level> shown(market::Book::Levels levels, std::size_t depth) {
    const auto count = std::min<std::size_t>(levels.size(), depth);
    return {levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(count)};
}

void append_side(std::string& out, const BookPage& page, std::string_view name, market::Book::Levels levels) {
    fmt::format_to(std::back_inserter(out), "{}\n", name);
    for (const auto& level : shown(levels, page.text.depth)) {
        fmt::format_to(std::back_inserter(out), "{:>14} {:>10} of {} orders\n",
                       price_text(level.price, page.text.decimals), level.size, level.orders);
        page.book.visit_orders(level, [&](const market::Book::Order& order) {
            fmt::format_to(std::back_inserter(out), "{:>14} {:>10} order {}\n", "", order.size, order.id);
        });
    }
}

void append_side_json(std::string& out, const market::Book& book, market::Book::Levels levels,
                      const BookTextOptions& options) {
    std::string_view comma;
    for (const auto& level : shown(levels, options.depth)) {
        fmt::format_to(std::back_inserter(out), "{}{{\"price\":{},\"size\":{},\"count\":{}", comma,
                       price_text(level.price, options.decimals), level.size, level.orders);
        comma = ",";
        if (options.orders) {
            std::string_view before;
            out += ",\"orders\":[";
            book.visit_orders(level, [&](const market::Book::Order& order) {
                fmt::format_to(std::back_inserter(out), "{}{{\"order_id\":{},\"size\":{}}}", before, order.id,
                               order.size);
                before = ",";
            });
            out += ']';
        }
        out += '}';
    }
}

}  // namespace

std::string faults_text(const market::Book::Faults& faults) {
    std::string text;
    const auto add = [&](std::uint64_t count, std::string_view what) {
        if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    };
    add(faults.gaps, "gaps of the channel");
    add(faults.missed, "ranges of lost events");
    add(faults.unknown_orders, "changes of unknown orders");
    add(faults.wrong_orders, "contradicting orders");
    add(faults.refused_orders, "orders that did not fit");
    add(faults.refused_levels, "levels that did not fit");
    add(faults.marked, "events marked incomplete");
    return text.empty() ? "no start of the session and no snapshot before" : text;
}

std::string book_table(const BookPage& page) {
    auto out = fmt::format("{} at {}: {}\n", page.symbol.view(), page.time,
                           page.fault.empty() ? "complete" : "incomplete, " + page.fault);
    if (page.text.orders) {
        append_side(out, page, "bids", page.book.bids());
        append_side(out, page, "asks", page.book.asks());
        return out;
    }
    const auto bids = shown(page.book.bids(), page.text.depth);
    const auto asks = shown(page.book.asks(), page.text.depth);
    out += "  orders   bid size          bid          ask   ask size  orders\n";
    for (std::size_t place = 0; place < std::max(bids.size(), asks.size()); ++place) {
        if (place < bids.size()) {
            fmt::format_to(std::back_inserter(out), "{:>8} {:>10} {:>12} ", bids[place].orders, bids[place].size,
                           price_text(bids[place].price, page.text.decimals));
        } else {
            fmt::format_to(std::back_inserter(out), "{:>8} {:>10} {:>12} ", "", "", "");
        }
        if (place < asks.size()) {
            fmt::format_to(std::back_inserter(out), "{:>12} {:>10} {:>7}",
                           price_text(asks[place].price, page.text.decimals), asks[place].size, asks[place].orders);
        }
        out += '\n';
    }
    return out;
}

std::string book_json(const BookPage& page) {
    auto out = fmt::format("{{\"type\":\"book\",\"symbol\":{},\"time\":\"{}\"", feed::JsonSymbol{page.symbol}.view(),
                           page.time);
    append_book_json(out, page.book, page.text);
    fmt::format_to(std::back_inserter(out), ",\"incomplete\":{}", !page.fault.empty());
    if (!page.fault.empty()) fmt::format_to(std::back_inserter(out), ",\"fault\":\"{}\"", page.fault);
    out += "}\n";
    return out;
}

void append_book_json(std::string& out, const market::Book& book, const BookTextOptions& options) {
    out += ",\"bids\":[";
    append_side_json(out, book, book.bids(), options);
    out += "],\"asks\":[";
    append_side_json(out, book, book.asks(), options);
    out += ']';
}

std::string book_csv_header(std::size_t depth) {
    std::string out = "time,symbol,incomplete";
    for (std::size_t place = 0; place < depth; ++place) {
        for (const std::string_view what : {"px", "sz", "ct"})
            fmt::format_to(std::back_inserter(out), ",bid_{0}_{1:02},ask_{0}_{1:02}", what, place);
    }
    return out + '\n';
}

std::string book_csv(const BookPage& page) {
    auto out = fmt::format("{},{},{}", page.time, feed::CsvSymbol{page.symbol}.view(), !page.fault.empty());
    const auto bids = shown(page.book.bids(), page.text.depth);
    const auto asks = shown(page.book.asks(), page.text.depth);
    for (std::size_t place = 0; place < page.text.depth; ++place) {
        const auto put = [&](auto&& text_of) {
            for (const auto* side : {&bids, &asks})
                fmt::format_to(std::back_inserter(out), ",{}", place < side->size() ? text_of((*side)[place]) : "");
        };
        put([&](const Level& level) { return price_text(level.price, page.text.decimals); });
        put([](const Level& level) { return fmt::format_int{level.size}.str(); });
        put([](const Level& level) { return fmt::format_int{level.orders}.str(); });
    }
    return out + '\n';
}

}  // namespace millpond::app
