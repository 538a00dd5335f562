#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>

#include "tests/apps/feed_lines.hpp"

namespace millpond::app {

/// The books of a ring, made of its orders or levels.
class RingBooks {
public:
    explicit RingBooks(Lines& lines)
        : reader_({.name = lines.ring()}),
          books_({.max_instruments = 256, .orders = 4'096},
                 [this](std::uint16_t channel) { return reader_.depth(channel); }) {
        reader_.join(books_);
    }
    void read() {
        while (reader_.poll(books_, 1'024) != 0) {
        }
    }
    /// The levels of each instrument, best first: those of its book or, without one, its quote's. Incomplete ones are
    /// named so.
    std::map<std::string, std::string> levels() {
        read();
        std::map<std::string, std::string> texts;
        for (feed::InstrumentId id = 0; id < reader_.board().instruments(); ++id) {
            const auto record = reader_.board().quote(id);
            if (record.state != market::RecordState::whole) continue;
            const auto& quote = record.event;
            const auto* book = books_.find(id);
            std::string text = (quote.flags & feed::kIncomplete) == 0 ? "|" : "incomplete |";
            if (book == nullptr) {
                if (quote.bid_size != 0) text += level_text(quote.bid_price, quote.bid_size);
                text += " |";
                if (quote.ask_size != 0) text += level_text(quote.ask_price, quote.ask_size);
            } else {
                if (!book->complete()) text = "incomplete |";
                for (const auto& level : book->bids()) text += level_text(level.price, level.size);
                text += " |";
                for (const auto& level : book->asks()) text += level_text(level.price, level.size);
            }
            texts[std::string{reader_.instrument(id)->symbol.view()}] = text;
        }
        return texts;
    }
    /// Each book as a text with every level and its orders by priority, and the quote's prices, sizes and flags.
    std::map<std::string, std::string> texts() {
        read();
        std::map<std::string, std::string> texts;
        for (feed::InstrumentId id = 0; id < reader_.board().instruments(); ++id) {
            const auto record = reader_.board().quote(id);
            const auto* book = books_.find(id);
            std::string text = book == nullptr ? "none" : book->complete() ? "complete" : "incomplete";
            if (record.state == market::RecordState::whole) {
                const auto& quote = record.event;
                text += " quote " + std::to_string(quote.bid_price) + " " + std::to_string(quote.bid_size) + " " +
                        std::to_string(quote.ask_price) + " " + std::to_string(quote.ask_size) + " " +
                        std::to_string(quote.flags);
            }
            if (book != nullptr) {
                for (const auto& side : {book->bids(), book->asks()}) {
                    text += " |";
                    for (const auto& level : side) {
                        text += level_text(level.price, level.size);
                        book->visit_orders(level, [&](const market::Book::Order& order) {
                            text += " #" + std::to_string(order.id) + "x" + std::to_string(order.size);
                        });
                    }
                }
            }
            texts[std::string{reader_.instrument(id)->symbol.view()}] = text;
        }
        return texts;
    }

private:
    template <class Size>
    static std::string level_text(feed::Price price, Size size) {
        return " " + std::to_string(price) + ":" + std::to_string(size);
    }

    market::RingReader reader_;
    market::Books books_;
};

}  // namespace millpond::app
