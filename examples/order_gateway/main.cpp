// Market data in, orders out, fills back:
//
//     order_gateway RING HOST PORT ORDERS
//
// reads quotes from the shared-memory ring RING, lets a strategy decide on each, sends what it decides as FIX orders to
// the counterparty at HOST:PORT, and ends when ORDERS of them are filled.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/engine/async_sender.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/feed/decimal.hpp>
#include <millpond/fix/utc_time.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/memory/message_pool.hpp>
#include <millpond/queue/spsc_ring.hpp>

namespace engine = millpond::engine;
namespace feed = millpond::feed;
namespace fix = millpond::fix;
namespace market = millpond::market;

namespace {

constexpr std::size_t kOrdersAtOnce = 1024;

/// The strategy's decision: buy or sell this much at this price, immediately or not at all.
struct Order {
    std::uint64_t id{0};
    feed::Symbol symbol{};
    char side{'1'};
    feed::Price price{0};
    std::uint64_t size{0};
    std::int64_t decided_utc_ns{0};
};

/// The counterparty's answer.
struct Fill {
    std::uint64_t order{0};
    std::uint64_t size{0};
};

/// Writes an Order as a NewOrderSingle of FIX 4.4, on the session's I/O thread.
struct OrderEncoder {
    [[nodiscard]] std::string_view msg_type(const Order&) const { return "D"; }
    [[nodiscard]] bool encode(const Order& order, fix::Writer& writer) const {
        writer.add<fix::tag::kClOrdId>(order.id).add<38>(order.size).add<40>('2');
        std::array<char, feed::kMaxPriceChars + feed::kDecimalSlack> price;
        const auto* const end = feed::write_price(price.data(), order.price);
        writer.add<44>(std::string_view{price.data(), static_cast<std::size_t>(end - price.data())});
        writer.add<54>(order.side).add<55>(order.symbol.view()).add<59>('3');
        writer.add_timestamp(60, order.decided_utc_ns, fix::TimePrecision::millis);
        return true;
    }
};

/// Passes fills from the I/O thread to the strategy's thread.
class Fills final : public engine::Application {
public:
    fix::Verdict on_message(engine::SessionLink&, const fix::Message& message) override {
        if (message.msg_type() != "8") return fix::Verdict::unsupported_message_type;
        const auto order = message.unsigned_integer(fix::tag::kClOrdId);
        const auto size = message.unsigned_integer(32);
        if (!order || !size) return fix::Verdict::conditionally_required_field_missing;
        // One slot for each order.
        return ring.try_push({*order, *size}) ? fix::Verdict::accepted : fix::Verdict::other;
    }

    millpond::queue::SpscRing<Fill> ring{kOrdersAtOnce};
};

using Sender = engine::AsyncSender<Order, OrderEncoder>;

/// Buys once of each instrument, at the best offer: the simplest strategy that uses every part.
class Strategy {
public:
    Strategy(market::RingReader& reader, Sender& sender, std::uint64_t orders)
        : reader_(&reader), sender_(&sender), left_(orders), bought_(reader.max_instruments()) {}

    void on(const feed::Quote& quote) {
        if (left_ == 0 || quote.ask_size == 0 || bought_[quote.instrument]) return;
        auto draft = sender_->try_make(Order{.id = next_id_,
                                             .symbol = reader_->instrument(quote.instrument)->symbol,
                                             .price = quote.ask_price,
                                             .size = quote.ask_size,
                                             .decided_utc_ns = millpond::core::utc_nanos()});
        // A full lane refuses the order: the next quote is another chance.
        if (!draft || sender_->try_send(std::move(draft), {.token = next_id_}) != engine::Handed::queued) return;
        bought_[quote.instrument] = true;
        ++next_id_;
        --left_;
    }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void on(const millpond::queue::MissedRange&) {}

    [[nodiscard]] std::uint64_t sent() const { return next_id_ - 1; }

private:
    market::RingReader* reader_;
    Sender* sender_;
    std::uint64_t left_;
    std::uint64_t next_id_{1};
    std::vector<bool> bought_;
};

int run(const std::string& ring, const std::string& host, std::uint16_t port, std::uint64_t orders) {
    Fills fills;
    const auto dictionary = fix::Dictionary::session_level(fix::Version::fix44);
    engine::IoThread io;
    engine::Initiator initiator{io};
    auto& session =
        initiator.add({.config = {.sender_comp_id = "DESK", .target_comp_id = "VENUE"}, .dictionary = &dictionary},
                      {.hosts = {{host, port}}}, fills);
    millpond::memory::MessagePool<Order> pool{kOrdersAtOnce};
    Sender sender{session, pool};

    market::RingReader reader{{.name = ring, .visible_as = "order_gateway"}};
    Strategy strategy{reader, sender, orders};
    reader.join(strategy);
    io.start();

    std::uint64_t filled = 0;
    std::uint64_t size = 0;
    while (filled < orders) {
        const auto events = reader.poll(strategy, 256);
        Fill fill;
        while (fills.ring.try_pop(fill)) {
            ++filled;
            size += fill.size;
        }
        if (events == 0) std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    std::printf("%llu orders, %llu fills of %llu in all\n", static_cast<unsigned long long>(strategy.sent()),
                static_cast<unsigned long long>(filled), static_cast<unsigned long long>(size));
    return io.drain(std::chrono::seconds{5}) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: order_gateway RING HOST PORT ORDERS\n");
        return 2;
    }
    try {
        return run(argv[1], argv[2], static_cast<std::uint16_t>(std::atoi(argv[3])),
                   static_cast<std::uint64_t>(std::atoll(argv[4])));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "order_gateway: %s\n", error.what());
        return 1;
    }
}
