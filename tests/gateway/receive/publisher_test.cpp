#include "gateway/receive/publisher.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include <millpond/core/clock.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/metrics/histogram_snapshot.hpp>

#include "tests/gateway/sinks/ring_fixture.hpp"

namespace millpond::gateway {
namespace {

std::uint64_t samples(const metrics::LatencyHistogram& histogram) {
    metrics::HistogramSnapshot snapshot;
    histogram.read(snapshot);
    return snapshot.count();
}

TEST(Publisher, TakesLatenciesOfWhatADatagramCausedAndOfNothingElse) {
    TestRing ring{"publisher"};
    feed::InstrumentTable instruments{16};
    Notices notices;
    Publisher publisher{ring.writer, instruments, notices};
    auto quote = quote_of(0, 1);
    publisher.on(quote);  // of a rebuilt book
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
