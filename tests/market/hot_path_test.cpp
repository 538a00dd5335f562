// Publishing to and reading from a market ring use no heap, cause no page fault and make no system call.

#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include <cstdint>

#include <gtest/gtest.h>

#include "tests/market/ring_fixture.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::market {
namespace {

struct Counting {
    template <class Event>
    void on(const Event&) {
        ++events;
    }
    std::uint64_t events{0};
};

TEST(MarketHotPath, PublishingAndPollingNeedNoHeapNoFaultNoSystemCall) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 7);
    RingReader prompt{{.name = name, .visible_as = "prompt"}};
    RingReader lapped{{.name = name}};
    Counting counting;
    prompt.join(counting);
    test::expect_free_of_cost([&] {
        bool right = true;
        feed::Trade trade;
        trade.instrument = 1;
        feed::Status status;
        feed::Gap gap;
        feed::Clear clear;
        for (std::uint64_t n = 0; n < 2'000; ++n) {
            right = right && writer.publish(quote_of(static_cast<feed::InstrumentId>(n % 7), n % 4, n));
            right = right && writer.publish(trade) && writer.publish(status) && writer.publish(gap);
            clear.instrument = n % 2 == 0 ? feed::kNoInstrument : 3;
            right = right && writer.publish(clear) && !writer.publish(quote_of(7, 0, n));
            writer.heartbeat(static_cast<std::int64_t>(n));
            const auto before = counting.events;
            right = right && prompt.poll(counting, 100) == 5 && counting.events == before + 5;
            right = right && prompt.instrument(static_cast<feed::InstrumentId>(n % 7)) != nullptr;
            if (n % 100 == 99) right = right && lapped.poll(counting, 1) == 1;
        }
        return right;
    });
}

TEST(MarketHotPath, PublishingLevelsNeedsNoHeapNoFaultNoSystemCall) {
    const auto name = fresh_name();
    auto options = small_ring(name);
    options.depth = 3;
    RingWriter writer{options};
    name_instruments(writer, 7);
    ASSERT_TRUE(writer.set_depth(0, {.depth = 3, .orders = true}));
    RingReader reader{{.name = name}};
    Counting counting;
    reader.join(counting);
    test::expect_free_of_cost([&] {
        bool right = true;
        feed::Order order;
        feed::Level level;
        feed::Clear clear;
        for (std::uint64_t n = 0; n < 2'000; ++n) {
            const auto id = static_cast<feed::InstrumentId>(n % 7);
            order.instrument = level.instrument = clear.instrument = id;
            level.side = n % 2 == 0 ? feed::Side::bid : feed::Side::ask;
            level.price = static_cast<feed::Price>(n * n % 11);
            level.size = n % 3;
            level.flags = n % 5 == 0 ? 0 : feed::kLast;  // every fifth group is interrupted
            right = right && writer.publish(order) && writer.publish(level);
            auto quote = quote_of((id + 1) % 7, 0, n);
            quote.flags = feed::kLast;
            right = right && writer.publish(quote) && (n % 50 != 0 || writer.publish(clear));
            const auto before = counting.events;
            right = right && reader.poll(counting, 100) >= 3 && counting.events >= before + 3;
        }
        return right;
    });
}

}  // namespace
}  // namespace millpond::market
