// What publishing and reading a market ring need while they run: no heap, no page fault, no system call.

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

}  // namespace
}  // namespace millpond::market
