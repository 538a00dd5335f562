// Events and the books that they make, which the tests of the Node.js and the Python package read too. To write the
// file after a change:
//
//     MILLPOND_WRITE_GENERATED=1 build/dev/tests/market/millpond_market_tests --gtest_filter='GoldenBooks.*'
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <millpond/feed/event.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/itch_book_builder.hpp>
#include <millpond/market/book.hpp>

#include "tests/market/itch_flow.hpp"

namespace millpond::market {
namespace {

using feed::OrderAction;
using feed::Side;

template <class... Part>
std::string text_of(const Part&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
}

/// Applies events to a book, and writes both: a line for each event, and one for the book wherever a group ends.
class Scribe {
public:
    void begin(const Book::Options& options) {
        book_.emplace(options);
        const auto depth = options.depth == feed::kFullDepth ? R"("full")" : std::to_string(options.depth);
        text_ += text_of(R"({"book":{"depth":)", depth, R"(,"levels":)", options.levels, R"(,"orders":)",
                         options.orders, "}}\n");
    }

    // Prices and order ids are texts, because numbers of JavaScript do not hold them.
    void on(const feed::Order& order) {
        apply(order, text_of(R"("order":[")", to_string(order.action), R"(",")", to_string(order.side), R"(",")",
                             order.order_id, R"(",")", order.price, R"(",)", order.size, ',', order.size_left, ',',
                             order.flags, ']'));
    }
    void on(const feed::Level& level) {
        apply(level, text_of(R"("level":[")", to_string(level.side), R"(",")", level.price, R"(",)", level.size, ',',
                             level.orders, ',', level.flags, ']'));
    }
    void on(const feed::Quote& quote) { apply(quote, text_of(R"("quote":[)", quote.flags, ']')); }
    void on(const feed::Trade& trade) { apply(trade, text_of(R"("trade":[)", trade.flags, ']')); }
    void on(const feed::Clear& clear) { apply(clear, text_of(R"("clear":[)", clear.flags, ']')); }
    void on(const feed::Gap& gap) { apply(gap, R"("gap":[])"); }
    void on(const queue::MissedRange& missed) {
        apply(missed, text_of(R"("missed":[)", missed.first, ',', missed.last, ']'));
    }
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}

    [[nodiscard]] const Book& book() const { return *book_; }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    template <class Event>
    void apply(const Event& event, const std::string& described) {
        text_ += text_of('{', described, "}\n");
        if (!book_->apply(event)) return;
        text_ += text_of(R"({"is":{"complete":)", book_->complete() ? "true" : "false", R"(,"live":)",
                         book_->live_orders(), R"(,"bids":[)", ladder(book_->bids()), R"(],"asks":[)",
                         ladder(book_->asks()), R"(],"faults":{)", faults(), "}}}\n");
    }
    [[nodiscard]] std::string ladder(const Book::Levels& levels) const {
        std::string text;
        for (const auto& level : levels) {
            std::string queue;
            book_->visit_orders(level, [&](const Book::Order& order) {
                queue += text_of(queue.empty() ? "" : ",", R"([")", order.id, R"(",)", order.size, ']');
            });
            text += text_of(text.empty() ? "" : ",", R"([")", level.price, R"(",)", level.size, ',', level.orders, ",[",
                            queue, "]]");
        }
        return text;
    }
    [[nodiscard]] std::string faults() const {
        using Faults = Book::Faults;
        std::string text;
        for (const auto& [name, count] :
             {std::pair{"marked", &Faults::marked}, std::pair{"gaps", &Faults::gaps},
              std::pair{"missed", &Faults::missed}, std::pair{"refused_levels", &Faults::refused_levels},
              std::pair{"refused_orders", &Faults::refused_orders},
              std::pair{"unknown_orders", &Faults::unknown_orders}, std::pair{"wrong_orders", &Faults::wrong_orders},
              std::pair{"crossed", &Faults::crossed}}) {
            if (book_->faults().*count == 0) continue;
            text += text_of(text.empty() ? "" : ",", '"', name, R"(":)", book_->faults().*count);
        }
        return text;
    }

    std::optional<Book> book_;
    std::string text_;
};

/// The events of the first instrument go to the scribe.
struct FirstOnly {
    Scribe* scribe;
    template <class Event>
        requires feed::HandlerOf<Scribe, Event>
    void on(const Event& event) {
        if constexpr (requires { event.instrument; }) {
            if (event.instrument != 0 && event.instrument != feed::kNoInstrument) return;
        }
        scribe->on(event);
    }
};

void play_flow(Scribe& scribe, const Book::Options& options) {
    scribe.begin(options);
    feed::InstrumentTable table{16};
    feed::ItchBookBuilder builder{table,
                                  {.order_books = {.books = 16, .orders = 20'000, .level_chunks = 512},
                                   .depth = options.depth,
                                   .orders = options.orders != 0}};
    builder.mark_complete();
    FirstOnly handler{&scribe};
    Flow flow{options.depth};
    for (std::uint64_t number = 1; number <= 500; ++number) builder.apply(flow.next(), number, {}, handler);
    EXPECT_TRUE(scribe.book().complete());
}

feed::Level level(Side side, feed::Price price, std::uint64_t size, std::uint16_t flags = feed::kLast) {
    feed::Level event;
    event.side = side;
    event.price = price;
    event.size = size;
    event.orders = 1;
    event.flags = flags;
    return event;
}

feed::Order order(OrderAction action, std::uint64_t id, Side side, feed::Price price, std::uint64_t size,
                  std::uint64_t left, std::uint16_t flags = feed::kLast) {
    feed::Order event;
    event.action = action;
    event.order_id = id;
    event.side = side;
    event.price = price;
    event.size = size;
    event.size_left = left;
    event.flags = flags;
    return event;
}

feed::Quote quote(std::uint16_t flags) {
    feed::Quote event;
    event.flags = flags;
    return event;
}
feed::Clear clear(std::uint16_t flags) {
    feed::Clear event;
    event.flags = flags;
    return event;
}

/// Each cause that makes a book of levels incomplete, and what makes it complete again.
void play_faults_of_levels(Scribe& scribe) {
    constexpr Book::Options kOptions{.depth = 2, .levels = 4};
    scribe.begin(kOptions);
    scribe.on(level(Side::bid, -100, 5));  // before a Clear or a snapshot
    const std::function<void()> losses[]{[&] { scribe.on(feed::Gap{}); },
                                         [&] { scribe.on(queue::MissedRange{3, 4}); },
                                         [&] { scribe.on(level(Side::bid, 100, 5, feed::kLast | feed::kIncomplete)); },
                                         [&] { scribe.on(quote(feed::kLast | feed::kIncomplete)); },
                                         [&] { scribe.on(clear(feed::kIncomplete)); },
                                         [&] {
                                             for (feed::Price price = 1; price <= 5; ++price)
                                                 scribe.on(level(Side::bid, price, 1, 0));
                                             scribe.on(level(Side::bid, 1, 0));
                                         },
                                         [&] {  // in an open group
                                             scribe.on(level(Side::ask, 300, 5, 0));
                                             scribe.on(feed::Gap{});
                                         },
                                         [&] {
                                             scribe.on(level(Side::ask, 300, 5, 0));
                                             scribe.on(queue::MissedRange{7, 7});
                                         }};
    for (const auto& lose : losses) {
        scribe.on(clear(0));
        scribe.on(level(Side::bid, 100, 5, 0));
        scribe.on(level(Side::ask, 200, 5));
        EXPECT_TRUE(scribe.book().complete());
        lose();
        EXPECT_FALSE(scribe.book().complete());
        scribe.on(level(Side::none, 0, 0, feed::kSnapshot));
        scribe.on(level(Side::bid, -99, 1, feed::kSnapshot));
        scribe.on(level(Side::ask, 9'223'372'036'854'775'806, 2, feed::kSnapshot | feed::kLast));
        EXPECT_TRUE(scribe.book().complete());
    }
    scribe.on(level(Side::ask, -99, 5));  // locked
    scribe.on(level(Side::ask, -100, 5));
    feed::Trade trade;
    scribe.on(level(Side::ask, -100, 0, 0));
    scribe.on(trade);
    scribe.on(quote(feed::kLast | feed::kHalted));
}

void play_faults_of_orders(Scribe& scribe) {
    constexpr auto kLargest = ~std::uint64_t{0};
    const std::pair<std::string_view, feed::Order> losses[]{
        {"unknown", order(OrderAction::cancel, 9, Side::bid, 100, 1, 1)},
        {"added twice", order(OrderAction::add, 1, Side::bid, 100, 1, 1)},
        {"no side", order(OrderAction::add, 3, Side::none, 100, 1, 1)},
        {"no size", order(OrderAction::add, 3, Side::bid, 100, 0, 0)},
        {"no sum", order(OrderAction::add, 3, Side::bid, 100, kLargest, kLargest)},
        {"no level", order(OrderAction::add, 3, Side::bid, 102, 1, 1)},
        {"no level", order(OrderAction::modify, 2, Side::bid, 103, 1, 1)},
        {"executed too much", order(OrderAction::execute, 1, Side::bid, 100, 11, 0)},
        {"another size left", order(OrderAction::execute, 1, Side::bid, 100, 3, 3)},
        {"more left", order(OrderAction::cancel, 1, Side::bid, 100, 3, 30)},
        {"another side", order(OrderAction::modify, 1, Side::ask, 100, 3, 3)},
        {"no size left", order(OrderAction::modify, 1, Side::bid, 100, 0, 0)}};
    for (const auto& [what, event] : losses) {
        scribe.begin({.depth = 2, .levels = 2, .orders = 4});
        scribe.on(clear(0));
        scribe.on(order(OrderAction::add, 1, Side::bid, 100, 10, 10));
        scribe.on(order(OrderAction::add, 2, Side::bid, 101, 10, 10));
        scribe.on(order(OrderAction::add, kLargest, Side::bid, 101, 7, 7));
        EXPECT_TRUE(scribe.book().complete()) << what;
        scribe.on(event);
        EXPECT_FALSE(scribe.book().complete()) << what;
        scribe.on(order(OrderAction::clear, 0, Side::none, 0, 0, 0, feed::kSnapshot));
        scribe.on(order(OrderAction::add, kLargest - 1, Side::bid, 100, 10, 10, feed::kSnapshot));
        scribe.on(order(OrderAction::add, kLargest, Side::bid, 100, 10, 10, feed::kSnapshot | feed::kLast));
        EXPECT_TRUE(scribe.book().complete()) << what;
    }
    for (std::uint64_t id = 1; id <= 3; ++id) scribe.on(order(OrderAction::add, id, Side::bid, 100, id, id));
    EXPECT_FALSE(scribe.book().complete());  // one did not fit
    // The priority of an order that grows is its own, unless the venue says otherwise.
    scribe.on(order(OrderAction::modify, 1, Side::bid, 100, 50, 50));
    scribe.on(order(OrderAction::modify, kLargest, Side::bid, 100, 50, 50, feed::kLast | feed::kPriorityLost));
    scribe.on(order(OrderAction::remove, kLargest, Side::bid, 100, 50, 0));
}

std::string contents_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(GoldenBooks, AreThoseOfTheirEvents) {
    Scribe scribe;
    play_flow(scribe, {.depth = 3, .levels = 7});
    play_flow(scribe, {.depth = 3, .levels = 256, .orders = 512});
    play_flow(scribe, {.depth = feed::kFullDepth, .levels = 256});
    play_faults_of_levels(scribe);
    play_faults_of_orders(scribe);
    const std::string path = MILLPOND_SOURCE_DIR "/tests/golden/books.jsonl";
    // NOLINTNEXTLINE(concurrency-mt-unsafe): never set here
    if (std::getenv("MILLPOND_WRITE_GENERATED") != nullptr) std::ofstream{path, std::ios::binary} << scribe.text();
    EXPECT_TRUE(contents_of(path) == scribe.text()) << path << " differs; golden_books_test.cpp says how to write it";
}

}  // namespace
}  // namespace millpond::market
