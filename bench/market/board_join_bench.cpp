// Measured:     what it takes a reader to join a ring with a board of that many instruments with ten levels a side:
//               until every event of the board is delivered; also into books, and while 200,000 messages a second are
//               published, until the reader has read the newest entry.
// Not measured: opening the ring.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/market/day_in_rounds.hpp"

namespace {

using namespace millpond;

constexpr std::uint32_t kDepth = 10;
constexpr std::int64_t kDatagramNanos = 15'000;  // 200,000 messages a second, three in each
constexpr std::size_t kRoundMessages = 60'000;   // 0.3 s

struct Counted {
    std::uint64_t events{0};
    bench::Sum sum;

    template <class Event>
    void on(const Event&) noexcept {
        ++events;
    }
    void on(const feed::Quote& quote) noexcept {
        ++events;
        sum.on(quote);
    }
    void on(const feed::Level& level) noexcept {
        ++events;
        sum.value += level.size;
    }
};

/// A ring whose board has the books of a day.
class Ring {
public:
    explicit Ring(std::size_t books)
        : rounds_(bench::day_shape(books), kRoundMessages), day_(rounds_.shape(), kDepth, false) {
        if (!writer_.set_depth(0, {.depth = kDepth})) throw std::logic_error("the ring refuses the depth");
        on(feed::Clear{});  // the books are complete from here on
        rounds_.fill([&](std::span<const std::byte> datagram) { publish(datagram); });
    }

    bench::Finding join() {
        market::RingReader reader({.name = name_});
        Counted counted;
        const auto nanos = bench::nanos_each(1, [&] { reader.join(counted); });
        bench::keep(counted);
        if (counted.events < shown()) throw std::logic_error("levels are missing");
        return {.value = nanos / 1e6, .answer = books()};
    }
    bench::Finding join_books() {
        market::RingReader reader({.name = name_});
        auto all = books_of(reader);
        const auto nanos = bench::nanos_each(1, [&] { reader.join(all); });
        check(all.books);
        return {.value = nanos / 1e6, .answer = books()};
    }
    /// The least: a copy of the board's slots.
    bench::Finding copy() {
        const auto bytes = books() * (sizeof(market::BoardSlot) + market::depth_slot_bytes(kDepth));
        const std::vector<std::byte> from(bytes, std::byte{1});
        std::uint64_t answer = 0;
        const auto nanos = bench::nanos_each(1, [&] {
            std::vector<std::byte> to(bytes);
            std::memcpy(to.data(), from.data(), bytes);
            bench::keep(to);
            answer = static_cast<std::uint64_t>(to.back()) * books();
        });
        return {.value = nanos / 1e6, .answer = answer};
    }
    bench::Finding join_busy() {
        market::RingReader reader({.name = name_});
        auto all = books_of(reader);
        const auto& datagrams = rounds_.round(++round_);
        std::atomic<std::size_t> published{0};
        std::atomic<bool> stops{false};
        double nanos = 0;
        {
            const std::jthread publisher{[&] {
                auto due = core::monotonic_nanos();
                for (std::size_t i = 0; i < datagrams.size() && !stops.load(std::memory_order_relaxed); ++i) {
                    publish(datagrams[i]);
                    published.store(i + 1, std::memory_order_relaxed);
                    due += kDatagramNanos;
                    bench::spin_until([&] { return core::monotonic_nanos() >= due; });
                }
            }};
            bench::spin_until([&] { return published.load(std::memory_order_relaxed) != 0; });
            nanos = bench::nanos_each(1, [&] {
                reader.join(all);
                while (reader.poll(all, kBatch) == kBatch) {
                }
            });
            stops.store(true, std::memory_order_relaxed);
        }
        while (reader.poll(all, kBatch) != 0) {
        }
        if (reader.account().missed != 0) throw std::logic_error("the reader missed entries");
        check(all.books);
        for (auto i = published.load(); i < datagrams.size(); ++i) publish(datagrams[i]);  // for the next round
        return {.value = nanos / 1e6, .answer = books()};
    }

    template <class Event>
    void on(const Event& event) noexcept {
        for (; named_ < day_.instruments.size(); ++named_)
            writer_.name(named_, day_.instruments.venue(named_), day_.instruments.symbol(named_));
        (void)writer_.publish(event);
    }

private:
    static constexpr std::size_t kBatch = 256;
    /// Books as a handler of RingReader.
    struct AllBooks {
        market::Books books;

        template <class Event>
        void on(const Event& event) {
            books.on(event);
        }
    };
    AllBooks books_of(market::RingReader& reader) const {
        return {market::Books{{.max_instruments = static_cast<std::uint32_t>(books())},
                              [&reader](std::uint16_t channel) { return reader.depth(channel); }}};
    }
    void publish(std::span<const std::byte> datagram) { (void)day_.decoder.decode(datagram, {}, *this); }
    [[nodiscard]] std::size_t books() const noexcept { return rounds_.shape().books; }
    [[nodiscard]] std::uint64_t shown() const {
        std::uint64_t levels = 0;
        for (std::size_t book = 0; book < books(); ++book) {
            for (const bool is_bid : {true, false})
                levels += std::min<std::size_t>(
                    kDepth, day_.decoder.order_books().levels(static_cast<std::uint16_t>(book), is_bid));
        }
        return levels;
    }
    void check(const market::Books& all) const {
        for (std::size_t id = 0; id < books(); ++id) {
            const auto* const book = all.find(static_cast<feed::InstrumentId>(id));
            if (book == nullptr || !book->complete()) throw std::logic_error("a book is incomplete");
            const auto number = static_cast<std::uint16_t>(id);
            bench::check_levels(day_.decoder.order_books(), number, true, kDepth, book->bids());
            bench::check_levels(day_.decoder.order_books(), number, false, kDepth, book->asks());
        }
    }

    bench::DayInRounds rounds_;
    bench::DayDecoder day_;
    std::string name_{"bench." + std::to_string(getpid()) + "." + std::to_string(rounds_.shape().books)};
    market::RingWriter writer_{{.name = name_,
                                .max_instruments = static_cast<std::uint32_t>(rounds_.shape().books),
                                .max_channels = 1,
                                .depth = kDepth}};
    feed::InstrumentId named_{0};
    std::size_t round_{0};
};

void add(std::vector<bench::Contender>& contenders, std::size_t books) {
    const auto ring = std::make_shared<Ring>(books);
    const auto add = [&](const std::string& line, bench::Finding (Ring::*join)()) {
        contenders.push_back({.name = line + ", " + std::to_string(books),
                              .run = [ring, join] { return (ring.get()->*join)(); },
                              .point = bench::Point{.line = line, .at = static_cast<double>(books)}});
    };
    add("limit: copy of the slots", &Ring::copy);
    add("join", &Ring::join);
    add("join into books", &Ring::join_books);
    add("join into books, 200,000 messages/s", &Ring::join_busy);
}

}  // namespace

int main() {
    std::vector<bench::Contender> contenders;
    for (const auto books : {std::size_t{64}, std::size_t{2'000}, std::size_t{10'000}}) add(contenders, books);
    bench::compare(
        {.question = "How long does a reader take to join a board with ten levels a side?",
         .unit = "ms",
         .curve = bench::Curve{.axis = "instruments"},
         .ratio_to = "limit: copy of the slots, 10000",
         .goals = {{.contender = "join, 10000", .at_most = 5}},
         .measured = "until the handler has every quote and level of the board, or books of them; while messages are "
                     "published, until the reader has read the newest entry too",
         .not_measured = "opening the ring"},
        contenders);
}
