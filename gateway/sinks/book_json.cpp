#include "gateway/sinks/book_json.hpp"

#include <array>
#include <ranges>
#include <string>
#include <string_view>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/json_text.hpp>
#include <millpond/market/book.hpp>

namespace millpond::gateway {
namespace {

using feed::detail::put;
using Levels = market::Book::Levels;

void append_side(std::string& out, const Levels& levels, std::uint32_t depth, unsigned decimals) {
    out += '[';
    bool first = true;
    for (const auto& level : levels | std::views::take(depth)) {
        std::array<char, 128> buffer;
        auto* end = put(buffer.data(), first ? std::string_view{"{\"price\":"} : std::string_view{",{\"price\":"});
        end = put(feed::write_price(end, level.price, decimals), ",\"size\":");
        end = put(feed::write_unsigned(end, level.size), ",\"count\":");
        end = put(feed::write_unsigned(end, level.orders), "}");
        out.append(buffer.data(), end);
        first = false;
    }
    out += ']';
}

}  // namespace

void append_book_json(std::string& out, const market::Book* book, std::uint32_t levels, const feed::JsonSymbol& symbol,
                      const BookStamp& stamp) {
    std::array<char, feed::kMaxJsonBytes> buffer;
    auto* end = put(buffer.data(), "{\"type\":\"book\",\"symbol\":");
    end = put(symbol.write(end), ",\"channel\":");
    end = put(feed::write_unsigned(end, stamp.channel), ",\"timestamp\":");
    end = put(feed::write_signed(end, stamp.receive_utc_ns), ",\"exchange_timestamp\":");
    end = put(feed::write_signed(end, stamp.exchange_utc_ns), ",\"sequence\":");
    end = put(feed::write_unsigned(end, stamp.number), ",\"bids\":");
    out.append(buffer.data(), end);
    append_side(out, book == nullptr ? Levels{} : book->bids(), levels, symbol.decimals());
    out += ",\"asks\":";
    append_side(out, book == nullptr ? Levels{} : book->asks(), levels, symbol.decimals());
    out += book != nullptr && book->complete() ? ",\"incomplete\":false}" : ",\"incomplete\":true}";
}

}  // namespace millpond::gateway
