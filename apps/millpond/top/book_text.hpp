#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <millpond/feed/event.hpp>
#include <millpond/market/book.hpp>

namespace millpond::app {

struct BookTextOptions {
    unsigned decimals{feed::kDefaultDecimals};
    std::size_t depth{10};  ///< Maximum number of levels of a side.
    bool orders{false};     ///< With the orders of each level.
};

/// A book at a time, for output.
struct BookPage {
    feed::Symbol symbol;
    std::string time;  ///< Formatted time.
    const market::Book& book;
    std::string fault;  ///< Reason why the book is incomplete; empty if it is complete.
    BookTextOptions text;
};

/// Names the causes that made a book incomplete, with their counts.
[[nodiscard]] std::string faults_text(const market::Book::Faults& faults);

/// Formats the book for a reader: bids on the left, asks on the right; with orders, the levels of each side below each
/// other.
[[nodiscard]] std::string book_table(const BookPage& page);

/// Formats the book as a JSON object in one line, with its newline. Prices are exact decimals:
/// ```
/// {"type":"book","symbol":"AAPL","time":"10:15:00.000000000",
///  "bids":[{"price":189.2400,"size":300,"count":2,"orders":[{"order_id":4712,"size":100},..]},..],"asks":[..],
///  "incomplete":false}
/// ```
/// `orders` are in the order of their priority. An incomplete book has `"fault"`, the reason.
[[nodiscard]] std::string book_json(const BookPage& page);

/// Appends the members `bids` and `asks` of that object, with a comma before each.
void append_book_json(std::string& out, const market::Book& book, const BookTextOptions& options);

/// The head and a row of CSV, with their newlines. Columns without a level are empty.
[[nodiscard]] std::string book_csv_header(std::size_t depth);
[[nodiscard]] std::string book_csv(const BookPage& page);

}  // namespace millpond::app
