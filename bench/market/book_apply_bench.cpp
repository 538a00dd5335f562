// Measured:     what a level or an order of a day costs a reader that keeps the books of all instruments, with the
//               quotes and trades of its group; processor time of the thread.
// Not measured: reading the ring, the events that fill the books.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <millpond/market/books.hpp>
#include <millpond/market/open_group.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/market/day_in_rounds.hpp"

namespace {

using namespace millpond;

constexpr std::uint32_t kDepth = 10;

/// market::Books, of levels or of orders.
template <bool kOrders>
class OurBooks {
public:
    explicit OurBooks(const bench::OrderShape& shape)
        : books_({.max_instruments = static_cast<std::uint32_t>(shape.books), .orders = kOrders ? 1U << 16 : 0},
                 [](std::uint16_t) { return market::ChannelDepth{.depth = kDepth, .orders = kOrders}; }) {
        books_.on(feed::Clear{});
    }
    template <class Event>
    void on(const Event& event) {
        books_.on(event);
    }
    /// The best levels equal those of the decoder.
    void check(const feed::OrderBooks& expected, std::size_t instruments) const {
        std::size_t orders = 0;
        for (std::size_t id = 0; id < instruments; ++id) {
            const auto* const book = books_.find(static_cast<feed::InstrumentId>(id));
            if (book == nullptr || !book->complete()) throw std::logic_error("a book is incomplete");
            bench::check_levels(expected, static_cast<std::uint16_t>(id), true, kDepth, book->bids());
            bench::check_levels(expected, static_cast<std::uint16_t>(id), false, kDepth, book->asks());
            orders += book->live_orders();
        }
        if (kOrders && orders != expected.live_orders()) throw std::logic_error("orders are missing");
    }

private:
    market::Books books_;
};

/// A usual way to keep levels: a tree for each side. It does not notice losses.
class MapsOfLevels {
public:
    explicit MapsOfLevels(const bench::OrderShape& shape) : books_(shape.books) {}

    void on(const feed::Level& level) {
        auto& book = books_[level.instrument];
        if (level.side == feed::Side::none) {
            book = {};
        } else if (level.side == feed::Side::bid) {
            set(book.bids, level);
        } else {
            set(book.asks, level);
        }
        end(level);
    }
    void on(const feed::Quote& quote) { end(quote); }
    void on(const feed::Trade& trade) { end(trade); }
    void on(const feed::Order&) {}
    void check(const feed::OrderBooks& expected, std::size_t instruments) const {
        for (std::size_t id = 0; id < instruments; ++id) {
            bench::check_levels(expected, static_cast<std::uint16_t>(id), true, kDepth, shown(books_[id].bids));
            bench::check_levels(expected, static_cast<std::uint16_t>(id), false, kDepth, shown(books_[id].asks));
        }
    }

private:
    struct Total {
        std::uint64_t size;
        std::uint32_t orders;
    };
    struct Shown {
        feed::Price price;
        std::uint64_t size;
        std::uint32_t orders;
    };
    struct Book {
        std::map<feed::Price, Total, std::greater<>> bids;
        std::map<feed::Price, Total> asks;
    };
    static void set(auto& side, const feed::Level& level) {
        if (level.size == 0) {
            side.erase(level.price);
        } else {
            side.insert_or_assign(level.price, Total{level.size, level.orders});
        }
    }
    static std::vector<Shown> shown(const auto& side) {
        std::vector<Shown> levels;
        for (const auto& [price, total] : side) levels.push_back({price, total.size, total.orders});
        return levels;
    }
    template <class Event>
    void end(const Event& event) {
        if ((event.flags & feed::kLast) == 0) return;
        auto& book = books_[event.instrument];
        while (book.bids.size() > kDepth) book.bids.erase(std::prev(book.bids.end()));
        while (book.asks.size() > kDepth) book.asks.erase(std::prev(book.asks.end()));
    }

    std::vector<Book> books_;
};

/// A decoder whose events fill the books at first, and are collected later.
template <class Books, bool kOrders>
class Reader {
public:
    explicit Reader(const bench::OrderShape& shape) : day_(shape, kOrders ? 0 : kDepth, kOrders), books_(shape) {}

    void fill(std::span<const std::byte> datagram) { (void)day_.decoder.decode(datagram, {}, *this); }
    /// Nanoseconds of a level or order.
    double apply(const bench::Datagrams& datagrams) {
        collects_ = true;
        events_.clear();
        changes_ = 0;
        for (std::size_t i = 0; i < datagrams.size(); ++i) (void)day_.decoder.decode(datagrams[i], {}, *this);
        const auto nanos = bench::own_nanos_each(changes_, [&] {
            for (const auto& event : events_) std::visit([this](const auto& one) { books_.on(one); }, event);
        });
        books_.check(day_.decoder.order_books(), day_.instruments.size());
        return nanos;
    }

    template <class Event>
    void on(const Event& event) {
        if constexpr (market::kIsOfGroup<Event>) {
            constexpr bool kChanges = std::is_same_v<Event, std::conditional_t<kOrders, feed::Order, feed::Level>>;
            if (!collects_) return books_.on(event);
            changes_ += kChanges ? 1U : 0U;
            events_.emplace_back(event);
        }
    }

private:
    bench::DayDecoder day_;
    Books books_;
    bool collects_{false};
    std::vector<market::GroupEntry> events_;
    std::size_t changes_{0};
};

template <class Books, bool kOrders>
void add(std::vector<bench::Contender>& contenders, const std::string& line, std::size_t books,
         std::size_t messages_each) {
    struct State {
        bench::DayInRounds rounds;
        std::unique_ptr<Reader<Books, kOrders>> reader{};
        std::size_t round{0};
    };
    const auto state = std::make_shared<State>(
        State{.rounds = bench::DayInRounds{bench::day_shape(books), bench::scaled(messages_each)}});
    contenders.push_back({.name = line + ", " + std::to_string(books),
                          .run =
                              [state] {
                                  auto& reader = state->reader;
                                  if (!reader) {
                                      reader = std::make_unique<Reader<Books, kOrders>>(state->rounds.shape());
                                      state->rounds.fill([&](auto datagram) { reader->fill(datagram); });
                                  }
                                  const auto nanos = reader->apply(state->rounds.round(++state->round));
                                  return bench::Finding{.value = nanos, .answer = state->rounds.messages()};
                              },
                          .point = bench::Point{.line = line, .at = static_cast<double>(books)}});
}

}  // namespace

int main() {
    std::vector<bench::Contender> contenders;
    for (const auto& [books, messages] :
         {std::pair<std::size_t, std::size_t>{64, 100'000}, {2'000, 300'000}, {10'000, 100'000}}) {
        add<OurBooks<false>, false>(contenders, "Books of levels", books, messages);
        add<MapsOfLevels, false>(contenders, "maps of levels", books, messages);
        add<OurBooks<true>, true>(contenders, "Books of orders", books, messages);
    }
    bench::compare(
        {.question = "What does a level or an order cost a reader that keeps books?",
         .unit = "ns/event",
         .curve = bench::Curve{.axis = "instruments"},
         .ratio_to = "maps of levels, 2000",
         .goals = {{.contender = "Books of levels, 2000", .at_most = 25},
                   {.contender = "Books of orders, 2000", .at_most = 60}},
         .measured = "a level or order of a feed of depth 10, with the quotes and trades of its group, to the books of "
                     "all instruments, in processor time; 520,000 live orders or more, with 64 instruments 1,024",
         .not_measured = "reading the ring, the events that fill the books"},
        contenders);
}
