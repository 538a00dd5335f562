#pragma once

#include <cstdint>
#include <string>

#include <millpond/feed/json_text.hpp>
#include <millpond/market/book.hpp>

namespace millpond::gateway {

/// The newest event of a book.
struct BookStamp {
    std::uint64_t number{0};  ///< Ring number; 0 if there is no book.
    std::int64_t receive_utc_ns{0};
    std::int64_t exchange_utc_ns{0};
    std::uint16_t channel{0};
};

/// Appends the best levels of a book as one JSON object, without a newline. book: null for an empty, incomplete book.
/// levels: of a side.
void append_book_json(std::string& out, const market::Book* book, std::uint32_t levels, const feed::JsonSymbol& symbol,
                      const BookStamp& stamp);

}  // namespace millpond::gateway
