#include "gateway/receive/feed_loss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"

namespace millpond::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kOneSecond = 1'000'000'000;

/// A ring as the receive thread has it, and the instruments that a late reader sees as incomplete.
class FeedLossTest : public ::testing::Test {
public:
    void on(const feed::Gap& gap) {
        gaps_.push_back(gap);
        ring_.writer.publish(gap);
    }
    void confirm(const feed::Quote& quote) { ring_.writer.publish(quote); }
    [[nodiscard]] const market::QuoteBoard& board() const { return ring_.writer.board(); }

protected:
    void publish(feed::InstrumentId id, feed::Price bid, std::uint16_t channel = 0) {
        auto quote = quote_of(id, bid);
        quote.channel = channel;
        ring_.writer.publish(quote);
    }
    void lose() { ring_.writer.publish(feed::Gap{.channel = 0}); }
    [[nodiscard]] std::vector<feed::InstrumentId> incomplete() const {
        struct Late {
            void on(const feed::Quote& quote) {
                if ((quote.flags & feed::kIncomplete) != 0) ids.push_back(quote.instrument);
            }
            void on(const feed::Trade&) {}
            void on(const feed::TradeBreak&) {}
            void on(const feed::Status&) {}
            void on(const feed::Gap&) {}
            void on(const feed::Clear&) {}
            void on(const queue::MissedRange&) {}
            std::vector<feed::InstrumentId> ids;
        };
        market::RingReader reader{{.name = ring_.name}};
        Late late;
        reader.join(late);
        return late.ids;
    }
    [[nodiscard]] std::vector<feed::GapReason> reasons() const {
        std::vector<feed::GapReason> result;
        for (const auto& gap : gaps_) result.push_back(gap.reason);
        return result;
    }
    /// Beats after another datagram.
    void hear(FeedLoss& loss, std::int64_t at) {
        ++seen_.datagrams;
        ++seen_.next;
        loss.beat(seen_, at, *this);
    }

    TestRing ring_{"loss"};
    FeedLoss::Seen seen_{.datagrams = 0, .dropped = 0, .next = 1, .agreed = 0};
    std::vector<feed::Gap> gaps_;
};

TEST_F(FeedLossTest, SilenceIsAGapOnceWhenSomethingHadBeenHeard) {
    FeedLoss loss{{.channel = 0, .patience_ns = 10 * kOneSecond, .sequenced = true}};
    loss.beat(seen_, 100 * kOneSecond, *this);
    EXPECT_THAT(gaps_, IsEmpty());
    hear(loss, 101 * kOneSecond);
    publish(0, 5);
    loss.beat(seen_, 111 * kOneSecond, *this);
    EXPECT_THAT(incomplete(), IsEmpty());
    for (int i = 1; i < 5; ++i) loss.beat(seen_, 111 * kOneSecond + i, *this);
    EXPECT_THAT(reasons(), ElementsAre(feed::GapReason::silence));
    EXPECT_EQ(gaps_[0].first, 0U);
    EXPECT_GT(gaps_[0].receive_utc_ns, 0);
    EXPECT_THAT(incomplete(), ElementsAre(0U));
}

TEST_F(FeedLossTest, AFeedThatContinuesWithoutAGapHasItsQuotesConfirmed) {
    FeedLoss loss{{.channel = 0, .patience_ns = kOneSecond, .sequenced = true}};
    hear(loss, kOneSecond);
    publish(0, 5);
    lose();
    publish(1, 6);
    publish(1, 7, 1);
    publish(1, 8);
    loss.beat(seen_, 3 * kOneSecond, *this);
    EXPECT_THAT(incomplete(), ElementsAre(0U, 1U));
    ++seen_.datagrams;  // a datagram without a usable number, or a heartbeat with another number
    loss.beat(seen_, 4 * kOneSecond, *this);
    EXPECT_THAT(incomplete(), ElementsAre(0U, 1U));
    ++seen_.agreed;
    loss.beat(seen_, 4 * kOneSecond, *this);
    EXPECT_THAT(incomplete(), ElementsAre(0U)) << "what was lost before the silence stays lost";
    EXPECT_EQ(board().quote(1).event.bid_price, 8);
    // The next silence counts again, and ends in the same way.
    loss.beat(seen_, 6 * kOneSecond, *this);
    EXPECT_THAT(incomplete(), ElementsAre(0U, 1U));
    hear(loss, 7 * kOneSecond);
    EXPECT_THAT(incomplete(), ElementsAre(0U));
    EXPECT_EQ(gaps_.size(), 2U);
}

TEST_F(FeedLossTest, AFeedThatContinuesAfterAGapHasNoQuoteConfirmed) {
    FeedLoss loss{{.channel = 0, .patience_ns = kOneSecond, .sequenced = true}};
    hear(loss, kOneSecond);
    publish(0, 5);
    loss.beat(seen_, 3 * kOneSecond, *this);
    lose();
    publish(1, 6);
    hear(loss, 4 * kOneSecond);
    EXPECT_THAT(incomplete(), ElementsAre(0U));
}

TEST_F(FeedLossTest, AClearOrANewerQuoteIsNotOverwrittenByAConfirmation) {
    FeedLoss loss{{.channel = 0, .patience_ns = kOneSecond, .sequenced = true}};
    hear(loss, kOneSecond);
    publish(0, 5);
    publish(1, 6);
    loss.beat(seen_, 3 * kOneSecond, *this);
    publish(1, 7);
    ring_.writer.publish(feed::Clear{.channel = 0});
    publish(1, 8);
    const auto newest = ring_.writer.newest();
    hear(loss, 4 * kOneSecond);
    EXPECT_EQ(ring_.writer.newest(), newest);
    EXPECT_EQ(board().quote(1).event.bid_price, 8);
}

TEST_F(FeedLossTest, WithoutSequenceNumbersSilenceIsNeverConfirmed) {
    FeedLoss loss{{.channel = 0, .patience_ns = kOneSecond, .sequenced = false}};
    hear(loss, kOneSecond);
    publish(0, 5);
    publish(1, 6);
    loss.beat(seen_, 3 * kOneSecond, *this);
    publish(1, 7);
    hear(loss, 4 * kOneSecond);
    EXPECT_THAT(incomplete(), ElementsAre(0U));
    loss.beat(seen_, 6 * kOneSecond, *this);
    EXPECT_THAT(incomplete(), ElementsAre(0U, 1U));
    EXPECT_THAT(reasons(), ElementsAre(feed::GapReason::silence, feed::GapReason::silence));
}

TEST_F(FeedLossTest, AfterTheEndOfTheSessionSilenceIsNoLoss) {
    FeedLoss loss{{.channel = 0, .patience_ns = kOneSecond, .sequenced = true}};
    hear(loss, kOneSecond);
    publish(0, 5);
    ring_.writer.publish(feed::Status{.channel = 0, .state = feed::TradingState::end_of_messages});
    loss.beat(seen_, 100 * kOneSecond, *this);
    EXPECT_THAT(incomplete(), IsEmpty());
    EXPECT_THAT(gaps_, IsEmpty());
}

TEST_F(FeedLossTest, WhatTheKernelDropsOfAFeedWithoutNumbersIsAGapThatCoversWhatItsBufferHeld) {
    FeedLoss loss{{.channel = 0, .patience_ns = 0, .sequenced = false}};
    hear(loss, kOneSecond);
    publish(0, 5);
    seen_.dropped = 7;
    hear(loss, 2 * kOneSecond);
    EXPECT_THAT(reasons(), ElementsAre(feed::GapReason::dropped));
    publish(1, 6);  // the quote was in the buffer before the dropped datagram
    hear(loss, 3 * kOneSecond);
    EXPECT_THAT(incomplete(), ElementsAre(0U, 1U));
    publish(1, 7);
    hear(loss, 4 * kOneSecond);
    EXPECT_THAT(incomplete(), ElementsAre(0U));
    EXPECT_EQ(gaps_.size(), 2U);
}

TEST_F(FeedLossTest, WithSequenceNumbersDropsAreLeftToThem) {
    FeedLoss loss{{.channel = 0, .patience_ns = 0, .sequenced = true}};
    publish(0, 5);
    seen_.dropped = 7;
    hear(loss, kOneSecond);
    EXPECT_THAT(gaps_, IsEmpty());
}

}  // namespace
}  // namespace millpond::gateway
