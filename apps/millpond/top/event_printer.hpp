#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/market/books.hpp>
#include <millpond/market/quote_board.hpp>

#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/top/event_lines.hpp"
#include "apps/millpond/top/tail_options.hpp"

namespace millpond::app {

/// Throws std::runtime_error if no feed sends `depth` levels. most: levels of the feed that sends the most.
void check_depth(std::uint32_t depth, std::uint32_t most, const std::string& source);

/// Formats the selected events of a ring or a journal, or the books that they make.
class EventPrinter {
public:
    EventPrinter(const EventPrinter&) = delete;
    EventPrinter& operator=(const EventPrinter&) = delete;

    void on(const feed::Quote& quote) { print(quote, quote.instrument); }
    void on(const feed::Trade& trade) { print(trade, trade.instrument); }
    void on(const feed::TradeBreak& broken) { print(broken, broken.instrument); }
    void on(const feed::Order& order) { print(order, order.instrument); }
    void on(const feed::Level& level) { print(level, level.instrument); }
    void on(const feed::Imbalance& imbalance) { print(imbalance, imbalance.instrument); }
    void on(const feed::Band& band) { print(band, band.instrument); }
    void on(const feed::Definition& definition) { print(definition, definition.instrument); }
    void on(const feed::BestVenues& venues) { print(venues, venues.instrument); }
    void on(const feed::Status& status) { print(status, status.instrument); }
    void on(const feed::Clear& clear) { print(clear, clear.instrument); }
    void on(const feed::Gap& gap) { print(gap, feed::kNoInstrument); }
    void on(const queue::MissedRange& missed) {
        books_.on(missed);
        if (!done()) printer_.write(missed);
    }

    /// Prints the collected lines; false when no process reads them.
    [[nodiscard]] bool flush() {
        const bool good = put_out(printer_.lines());
        printer_.clear();
        return good;
    }
    [[nodiscard]] const EventLines& printer() const noexcept { return printer_; }
    /// Prints requested symbols that no instrument has had so far, with similar symbols.
    void name_absent_symbols(const std::string& source);
    /// Whether the requested number of events has been printed.
    [[nodiscard]] bool done() const noexcept { return count_ != 0 && printed_ == count_; }

protected:
    EventPrinter(const TailOptions& options, std::uint32_t max_instruments, market::Books::DepthOf depth_of)
        : wanted_(options.symbols.begin(), options.symbols.end()),
          count_(options.count),
          depth_(options.depth),
          printer_(format_of(options.format)),
          books_({.max_instruments = depth_ == 0 ? 0 : max_instruments}, std::move(depth_of)) {}
    ~EventPrinter() = default;

    /// Number of the event that is printed.
    [[nodiscard]] virtual std::uint64_t number() const = 0;
    [[nodiscard]] virtual const market::Instrument* instrument(feed::InstrumentId id) = 0;
    /// True for events that say what the books are, and are not printed.
    [[nodiscard]] virtual bool in_snapshot() const { return false; }
    /// Called after an event: whether it is in a line, or else in a book.
    virtual void note(bool is_printed, bool is_of_book) = 0;

    /// Events that can be read now, so that no more than the requested number are printed.
    [[nodiscard]] std::size_t round() const noexcept {
        return count_ == 0 ? kRound : static_cast<std::size_t>(std::min<std::uint64_t>(kRound, count_ - printed_));
    }
    /// Ids belong to other instruments from now on.
    void forget() {
        printer_.forget_names();
        is_wanted_.clear();
        books_.reset();
        complete_faults_.clear();
    }
    [[nodiscard]] bool wants(feed::InstrumentId id);
    /// Shows the venues of instruments if the ring has composites, whose symbols are those of other instruments. Call
    /// it before the first event.
    void show_venues(const market::QuoteBoard& board);
    [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }

private:
    static constexpr std::size_t kRound = 1'024;

    template <class Event>
    void print(const Event& event, feed::InstrumentId id) {
        bool ends_group = false;
        if constexpr (requires { books_.on(event); }) ends_group = depth_ != 0 && books_.on(event);
        if (in_snapshot()) return;
        const auto before = printer_.lines().size();
        const bool is_wanted = !done() && (id == feed::kNoInstrument || wants(id));
        const auto* const book = is_wanted && depth_ != 0 ? books_.find(id) : nullptr;
        if (is_wanted && (book == nullptr || !kIsOfBook<Event>)) printer_.write(event, number());
        if (book != nullptr && ends_group) write_book(*book, id, event.channel, event.receive_utc_ns);
        const bool is_printed = printer_.lines().size() != before;
        if (is_printed) ++printed_;
        note(is_printed, book != nullptr);
    }
    void write_book(const market::Book& book, feed::InstrumentId id, std::uint16_t channel,
                    std::int64_t receive_utc_ns);
    /// Events that books show.
    template <class Event>
    static constexpr bool kIsOfBook =
        std::is_same_v<Event, feed::Quote> || std::is_same_v<Event, feed::Order> || std::is_same_v<Event, feed::Level>;

    std::set<std::string, std::less<>> wanted_;
    std::set<std::string, std::less<>> found_;  // of wanted_
    std::vector<bool> is_wanted_;
    std::uint64_t count_;
    std::uint32_t depth_;  // 0: no books
    bool shows_venues_{false};
    EventLines printer_;
    market::Books books_;
    std::vector<market::Book::Faults> complete_faults_;  // by id: the faults of the book when it was complete last
    std::uint64_t printed_{0};
};

}  // namespace millpond::app
