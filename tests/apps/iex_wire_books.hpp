#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millpond::app {

/// Quotes, levels or orders of an IEX session, read from the bytes of its datagrams with the offsets of the
/// specifications: TOPS 1.66, page 16, DEEP 1.08, page 17, DEEP+ 1.04, pages 20 to 26. It shares no code with the
/// gateway.
class IexWireBooks {
public:
    explicit IexWireBooks(std::span<const std::vector<std::byte>> datagrams) {
        for (const auto& datagram : datagrams) add(datagram);
    }
    /// The levels of each symbol, best first, as RingBooks::levels.
    [[nodiscard]] std::map<std::string, std::string> levels() const {
        std::map<std::string, std::string> texts;
        for (const auto& [symbol, book] : books_) {
            auto& text = texts[symbol];
            text = "|";
            for (const auto& [price, size] : book.bids) text += level_text(price, size);
            text += " |";
            for (const auto& [price, size] : book.asks) text += level_text(price, size);
        }
        return texts;
    }

private:
    struct Book {
        std::map<std::int64_t, std::uint64_t, std::greater<>> bids;
        std::map<std::int64_t, std::uint64_t> asks;
        std::vector<std::vector<std::byte>> group;  // of DEEP, while its last message is missing
    };
    struct Order {
        std::string symbol;
        bool is_bid;
        std::int64_t price;
        std::uint64_t size;
    };

    template <class Integer>
    static Integer number(std::span<const std::byte> bytes, std::size_t at) {
        Integer value{};
        std::memcpy(&value, bytes.data() + at, sizeof value);  // little-endian, as the machines that run this
        return value;
    }
    static std::string level_text(std::int64_t price, std::uint64_t size) {
        return " " + std::to_string(price * 100'000) + ":" + std::to_string(size);
    }
    static void set(Book& book, bool is_bid, std::int64_t price, std::uint64_t size) {
        const auto change = [&](auto& side) {
            if (size == 0) {
                side.erase(price);
            } else {
                side[price] = size;
            }
        };
        is_bid ? change(book.bids) : change(book.asks);
    }

    void add(std::span<const std::byte> datagram) {
        auto place = std::size_t{40};
        for (auto left = number<std::uint16_t>(datagram, 14); left != 0; --left) {
            const auto size = number<std::uint16_t>(datagram, place);
            apply(datagram.subspan(place + 2, size));
            place += std::size_t{2} + size;
        }
    }
    void apply(std::span<const std::byte> message) {
        const auto type = static_cast<char>(message[0]);
        if (!std::string_view{"Q85aMRLC"}.contains(type)) return;
        std::string symbol{reinterpret_cast<const char*>(message.data() + 10), 8};
        symbol.erase(symbol.find_last_not_of(' ') + 1);
        auto& book = books_[symbol];
        switch (type) {
            case 'Q':
                book = {};
                set(book, true, number<std::int64_t>(message, 22), number<std::uint32_t>(message, 18));
                set(book, false, number<std::int64_t>(message, 30), number<std::uint32_t>(message, 38));
                return;
            case '8':
            case '5':
                book.group.emplace_back(message.begin(), message.end());
                if ((static_cast<unsigned>(message[1]) & 1U) == 0) return;
                for (const auto& level : std::exchange(book.group, {}))
                    set(book, level[0] == std::byte{'8'}, number<std::int64_t>(level, 22),
                        number<std::uint32_t>(level, 18));
                return;
            case 'a':
                put(number<std::uint64_t>(message, 18),
                    {symbol, message[1] == std::byte{'8'}, number<std::int64_t>(message, 30),
                     number<std::uint32_t>(message, 26)});
                return;
            case 'M': {
                auto order = take(number<std::uint64_t>(message, 18));
                order.price = number<std::int64_t>(message, 30);
                order.size = number<std::uint32_t>(message, 26);
                return put(number<std::uint64_t>(message, 18), order);
            }
            case 'R': take(number<std::uint64_t>(message, 18)); return;
            case 'L': {
                auto order = take(number<std::uint64_t>(message, 18));
                order.size -= number<std::uint32_t>(message, 26);
                if (order.size != 0) put(number<std::uint64_t>(message, 18), order);
                return;
            }
            default:
                book = {};
                std::erase_if(orders_, [&](const auto& order) { return order.second.symbol == symbol; });
        }
    }
    void put(std::uint64_t id, const Order& order) {
        orders_.emplace(id, order);
        change(order, order.size);
    }
    Order take(std::uint64_t id) {
        const auto order = orders_.at(id);
        orders_.erase(id);
        change(order, 0 - order.size);
        return order;
    }
    void change(const Order& order, std::uint64_t more) {
        auto& book = books_[order.symbol];
        const auto total = order.is_bid ? book.bids[order.price] : book.asks[order.price];
        set(book, order.is_bid, order.price, total + more);
    }

    std::map<std::string, Book> books_;
    std::map<std::uint64_t, Order> orders_;
};

}  // namespace millpond::app
