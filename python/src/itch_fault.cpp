#include "itch_fault.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>

namespace millpond::python {
namespace {

namespace at = feed::itch_layout;
using core::load_be;
using Message = std::span<const std::byte>;

char type_of(Message message) noexcept { return message.empty() ? '\0' : static_cast<char>(message[0]); }

std::string number_at(Message message, std::size_t place) {
    return std::to_string(load_be<std::uint64_t>(message.data() + place));
}

std::string hexadecimal(std::byte byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto value = std::to_integer<unsigned>(byte);
    return {'0', 'x', kDigits[value / 16], kDigits[value % 16]};
}

std::string found(std::string_view field, std::size_t place, std::byte byte, std::string_view bound) {
    return std::string{field} + " at its byte " + std::to_string(place) + ": found " + hexadecimal(byte) +
           ", must be " + std::string{bound};
}

/// Empty when it has a name.
std::string invalid_stock(Message message) {
    const auto place = stock_at(type_of(message));
    if (place == 0) return {};
    const auto name = message.subspan(place, at::kStockBytes);
    const auto is_printable = [](std::byte byte) { return byte >= std::byte{0x20} && byte <= std::byte{0x7E}; };
    const auto bad = std::ranges::find_if_not(name, is_printable);
    if (bad != name.end())
        return found("stock", static_cast<std::size_t>(&*bad - message.data()), *bad, "printable ASCII, 0x20 to 0x7E");
    const bool blank = std::ranges::all_of(name, [](std::byte byte) { return byte == std::byte{' '}; });
    return blank ? "stock at its byte " + std::to_string(place) + " is blank" : "";
}

/// Empty when each of the fields that have a bound is within it.
std::string invalid_field(Message message) {
    struct Letter {
        char type;
        std::string_view field;
        std::size_t place;
        std::string_view allowed;
    };
    constexpr Letter kLetters[] = {
        {'A', "side", at::order_added::kSideAt, "BS"},
        {'F', "side", at::order_added::kSideAt, "BS"},
        {'H', "trading state", at::trading_action::kStateAt, "THPQ"},
        {'h', "market", at::operational_halt::kMarketAt, "QBX"},
        {'h', "action", at::operational_halt::kActionAt, "TH"},
        {'W', "level", at::circuit_breaker::kLevelAt, "123"},
        {'S', "event", at::system_event::kEventAt, "OSQMEC"},
    };
    if (!at::is_time_of_day(message.data()))
        return "time at its byte " + std::to_string(at::kTimeAt) + ": found " +
               std::to_string(at::load_time(message.data())) + ", must be at most " + std::to_string(at::kDayNs - 1);
    const auto type = type_of(message);
    for (const auto& letter : kLetters) {
        if (letter.type != type) continue;
        const auto byte = message[letter.place];
        if (letter.allowed.find(static_cast<char>(byte)) == std::string_view::npos)
            return found(letter.field, letter.place, byte, "one of " + std::string{letter.allowed});
    }
    const auto shares_at = type == 'A' || type == 'F' ? at::order_added::kSharesAt
                           : type == 'U'              ? at::order_replaced::kSharesAt
                                                      : 0;
    if (shares_at != 0 && load_be<std::uint32_t>(message.data() + shares_at) == 0)
        return "shares at its byte " + std::to_string(shares_at) + ": found 0, must be 1 or more";
    return {};
}

std::string invalid(Message message) {
    const auto type = type_of(message);
    const auto bytes = at::message_bytes(type);
    if (bytes == 0) return "unknown type " + std::to_string(static_cast<unsigned char>(type));
    if (message.size() != bytes)
        return std::string{"type "} + type + " with " + std::to_string(message.size()) + " bytes, bound " +
               std::to_string(bytes);
    auto text = invalid_field(message);
    return text.empty() ? invalid_stock(message) : text;
}

std::string other_stock(Message message, std::string_view stock) {
    auto text = invalid_stock(message);
    if (!text.empty()) return text;
    return "stock at its byte " + std::to_string(stock_at(type_of(message))) + ": found '" +
           std::string{named_stock(message.data())} + "', must be '" + std::string{stock} + "', the stock of locate " +
           std::to_string(load_be<std::uint16_t>(message.data() + at::kLocateAt));
}

std::string inconsistent(Message message) {
    switch (type_of(message)) {
        case 'A':
        case 'F': return "order " + number_at(message, at::order_added::kOrderAt) + " exists already";
        case 'U': return "order " + number_at(message, at::order_replaced::kNewOrderAt) + " exists already";
        default:
            return "shares at its byte " + std::to_string(at::order_executed::kSharesAt) + ": found " +
                   std::to_string(load_be<std::uint32_t>(message.data() + at::order_executed::kSharesAt)) +
                   ", more than order " + number_at(message, at::order_executed::kOrderAt) + " has";
    }
}

std::string refused(Message message) {
    if (type_of(message) == 'B')
        return "stock locate " + std::to_string(load_be<std::uint16_t>(message.data() + at::kLocateAt)) +
               " has no name yet";
    return "full: at most " + std::to_string(kMaxStocks) + " stocks and " + std::to_string(kMaxOrders) + " orders";
}

}  // namespace

feed::OrderBooks::Options books_for(const Source::Options& options) noexcept {
    constexpr std::uint64_t kMinBooks = 64;
    feed::OrderBooks::Options books;
    books.books = std::clamp<std::uint64_t>(options.bytes, kMinBooks, kMaxStocks);
    books.orders = 4'096;
    books.level_chunks = 128;
    books.growth = kMaxOrders / books.orders;
    return books;
}

bool is_whole(std::span<const std::byte> message) noexcept {
    return !message.empty() && message.size() == at::message_bytes(type_of(message));
}

feed::Symbol stock_of(const feed::ItchDecoder& decoder, std::span<const std::byte> message) noexcept {
    if (!is_whole(message)) return {};
    return decoder.books().stock_of(load_be<std::uint16_t>(message.data() + at::kLocateAt));
}

std::size_t stock_at(char type) noexcept {
    switch (type) {
        case 'A':
        case 'F': return at::order_added::kStockAt;
        case 'P': return at::hidden_trade::kStockAt;
        case 'Q': return at::cross::kStockAt;
        case 'R':
        case 'H':
        case 'h':
        case 'Y':
        case 'K':
        case 'J':
        case 'N':
        case 'O': return at::directory::kStockAt;
        case 'L': return 15;
        case 'I': return 28;
        default: return 0;
    }
}

std::string_view named_stock(const std::byte* message) noexcept {
    const auto place = stock_at(static_cast<char>(message[0]));
    if (place == 0) return {};
    const std::string_view stock{reinterpret_cast<const char*>(message) + place, at::kStockBytes};
    return stock.substr(0, stock.find_last_not_of(' ') + 1);
}

std::string to_text(feed::ItchFault fault, std::span<const std::byte> message, std::string_view stock) {
    switch (fault) {
        case feed::ItchFault::other_stock: return other_stock(message, stock);
        case feed::ItchFault::invalid: return invalid(message);
        case feed::ItchFault::unknown_order:
            return "order " + number_at(message, at::order_deleted::kOrderAt) + " is not known";
        case feed::ItchFault::inconsistent: return inconsistent(message);
        case feed::ItchFault::refused: return refused(message);
    }
    return {};
}

}  // namespace millpond::python
