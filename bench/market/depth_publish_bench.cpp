// Measured:     from the bytes of a MoldUDP64 datagram of three ITCH messages to the ring and the board, with depth 10,
//               or with orders and all levels, against best prices only; processor time of the thread.
// Not measured: receiving, the directory and the orders at the start, readers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <millpond/market/ring_writer.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/market/day_in_rounds.hpp"

namespace {

using namespace millpond;

constexpr std::uint32_t kBoardDepth = 10;

struct Sent {
    std::string_view name;
    std::uint32_t depth;
    bool orders;
};
constexpr std::array kSent{Sent{"best prices", 0, false}, Sent{"depth 10", kBoardDepth, false},
                           Sent{"orders and all levels", feed::kFullDepth, true}};

/// Decodes a day and publishes it, as the gateway's receive thread.
class Pipeline {
public:
    Pipeline(const bench::OrderShape& shape, const Sent& sent)
        : day_(shape, sent.depth, sent.orders),
          writer_({.name = "bench." + std::to_string(getpid()) + "." + std::to_string(shape.books) + "." +
                           std::to_string(sent.depth),
                   .max_instruments = static_cast<std::uint32_t>(shape.books),
                   .max_channels = 1,
                   .depth = sent.depth == 0 ? 0 : kBoardDepth}),
          has_levels_(sent.depth == kBoardDepth) {
        if (sent.depth != 0 && !writer_.set_depth(0, {.depth = sent.depth, .orders = sent.orders}))
            throw std::logic_error("the ring refuses the depth");
        on(feed::Clear{});  // the books are complete from here on
    }

    void apply(std::span<const std::byte> datagram) { (void)day_.decoder.decode(datagram, {}, *this); }

    template <class Event>
    void on(const Event& event) noexcept {
        for (; named_ < day_.instruments.size(); ++named_)
            writer_.name(named_, day_.instruments.venue(named_), day_.instruments.symbol(named_));
        published_ += writer_.publish(event) ? 1U : 0U;
    }

    /// Sum of all best prices of the board. Its levels are those of the decoder's books, unless the feed sends more
    /// than it has, and no event is missing.
    [[nodiscard]] std::uint64_t check() const {
        const auto& counters = day_.decoder.counters();
        const auto events = counters.quotes.read() + counters.trades.read() + counters.orders.read() +
                            counters.levels.read() + counters.definitions.read() + 1;  // the Clear at the start
        if (published_ != events || writer_.newest() != events) throw std::logic_error("events were not published");
        bench::Sum sum;
        std::vector<market::BoardLevel> levels(std::size_t{2} * kBoardDepth);
        for (feed::InstrumentId id = 0; id < named_; ++id) {
            sum.on(writer_.board().quote(id).event);
            if (!has_levels_) continue;
            const auto slot = writer_.board().levels(id, levels);
            const auto book = static_cast<std::uint16_t>(id);  // both are numbered in the order of the directory
            if (slot.state != market::RecordState::whole || slot.event.flags != 0)
                throw std::logic_error("levels of the board are incomplete");
            const auto all = std::span{levels};
            bench::check_levels(day_.decoder.order_books(), book, true, kBoardDepth, all.first(slot.event.bids));
            bench::check_levels(day_.decoder.order_books(), book, false, kBoardDepth,
                                all.subspan(kBoardDepth, slot.event.asks));
        }
        return sum.value;
    }

private:
    bench::DayDecoder day_;
    market::RingWriter writer_;
    bool has_levels_;
    feed::InstrumentId named_{0};
    std::uint64_t published_{0};
};

/// The day of one number of instruments: each contender has its own books, and all get the same messages.
class Day {
public:
    Day(std::size_t books, std::size_t messages_each) : rounds_(bench::day_shape(books), messages_each) {}

    bench::Finding run(std::size_t which) {
        auto& one = ones_[which];
        if (!one.pipeline) {
            one.pipeline = std::make_unique<Pipeline>(rounds_.shape(), kSent[which]);
            rounds_.fill([&](std::span<const std::byte> datagram) { one.pipeline->apply(datagram); });
        }
        const auto& datagrams = rounds_.round(++one.round);
        const auto nanos = bench::own_nanos_each(rounds_.messages(), [&] {
            for (std::size_t i = 0; i < datagrams.size(); ++i) one.pipeline->apply(datagrams[i]);
        });
        const auto prices = one.pipeline->check();
        if (one.round != round_) {
            round_ = one.round;
            prices_ = prices;
        }
        if (prices != prices_) throw std::logic_error("contenders have other best prices");
        return {.value = nanos, .answer = rounds_.messages()};
    }

private:
    struct One {
        std::unique_ptr<Pipeline> pipeline;
        std::size_t round{0};
    };
    bench::DayInRounds rounds_;
    std::array<One, kSent.size()> ones_;
    std::size_t round_{0};
    std::uint64_t prices_{0};
};

void add(std::vector<bench::Contender>& contenders, std::size_t books, std::size_t messages_each) {
    const auto day = std::make_shared<Day>(books, bench::scaled(messages_each));
    for (std::size_t which = 0; which < kSent.size(); ++which) {
        const std::string line{kSent[which].name};
        contenders.push_back({.name = line + ", " + std::to_string(books),
                              .run = [day, which] { return day->run(which); },
                              .point = bench::Point{.line = line, .at = static_cast<double>(books)}});
    }
}

}  // namespace

int main() {
    std::vector<bench::Contender> contenders;
    add(contenders, 64, 200'000);
    add(contenders, 2'000, 1'000'000);
    add(contenders, 10'000, 200'000);
    const std::string prices = "best prices, 2000";
    bench::compare(
        {.question = "What does an ITCH message cost up to ring and board, with levels and orders?",
         .unit = "ns/message",
         .curve = bench::Curve{.axis = "instruments"},
         .ratio_to = prices,
         .goals = {{.contender = "depth 10, 2000", .to = prices, .at_most = 1.3},
                   {.contender = "orders and all levels, 2000", .to = prices, .at_most = 1.6}},
         .measured = "from the bytes of a MoldUDP64 datagram of three messages to ring and board, in processor time; "
                     "books keep what earlier rounds left; 520,000 live orders or more, with 64 instruments 1,024",
         .not_measured = "receiving, the directory and the orders at the start, readers"},
        contenders);
}
