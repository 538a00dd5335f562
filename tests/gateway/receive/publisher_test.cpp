#include "gateway/receive/publisher.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include <millpond/core/clock.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/metrics/histogram_snapshot.hpp>

#include "tests/gateway/sinks/ring_fixture.hpp"

namespace millpond::gateway {
namespace {

std::uint64_t samples(const metrics::LatencyHistogram& histogram) {
    metrics::HistogramSnapshot snapshot;
    histogram.read(snapshot);
    return snapshot.count();
}

/// An event that nothing handles: a Publisher and a board must not take it silently.
struct NewEvent {
    static constexpr auto kKind = static_cast<feed::EventKind>(99);
    feed::InstrumentId instrument{0};
    std::uint16_t channel{0};
    std::uint64_t receive_ticks{0};
};
template <class Board, class Event>
concept Stores = requires(Board& board, const Event& event) { board.store(event, 1); };
static_assert(feed::EventHandler<Publisher>);
static_assert(!feed::HandlerOf<Publisher, NewEvent>);
static_assert(Stores<market::QuoteBoardWriter, feed::Trade> && !Stores<market::QuoteBoardWriter, NewEvent>);

TEST(Publisher, TakesLatenciesOfWhatADatagramCausedAndOfNothingElse) {
    TestRing ring{"publisher"};
    feed::InstrumentTable instruments{16};
    Notices notices;
    Publisher publisher{ring.writer, instruments, notices};
    auto quote = quote_of(0, 1);
    publisher.on(quote);  // a quote of a rebuilt book
    publisher.on(feed::Gap{.receive_utc_ns = core::utc_nanos()});
    publisher.on(feed::Gap{.receive_utc_ns = core::utc_nanos(), .receive_ticks = core::ticks()});
    publisher.confirm(quote);
    EXPECT_EQ(samples(publisher.latencies().wire), 0U);
    EXPECT_EQ(samples(publisher.latencies().in_process), 0U);
    quote.receive_ticks = core::ticks();
    publisher.on(quote);
    EXPECT_EQ(samples(publisher.latencies().wire), 1U);
    EXPECT_EQ(samples(publisher.latencies().in_process), 1U);
    EXPECT_EQ(publisher.published().read(), 5U);
}

}  // namespace
}  // namespace millpond::gateway
