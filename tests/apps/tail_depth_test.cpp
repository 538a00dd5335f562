// `millpond tail --depth`: books of a ring.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <millpond/feed/event.hpp>
#include <millpond/market/ring_writer.hpp>

#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using test::scratch_name;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TailDepth, PrintsTheBestLevelsAtTheEndOfEachGroupInsteadOfItsEvents) {
    const std::string best =
        R"("bids":[{"price":100.0000,"size":100,"count":1},{"price":99.0000,"size":99,"count":1}],)"
        R"("asks":[{"price":101.0000,"size":98,"count":1}],"incomplete":false})";
    const auto ring = scratch_name("tail_depth");
    std::optional<market::RingWriter> writer{
        std::in_place,
        market::RingWriterOptions{.name = ring, .capacity = 64, .max_instruments = 4, .max_channels = 2, .depth = 3}};
    ASSERT_TRUE(writer->set_depth(0, {.depth = 3}));
    ASSERT_TRUE(writer->name(0, feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}));
    ASSERT_TRUE(writer->name(1, feed::Venue{"XTST"}, feed::Symbol{"QUOTED"}));
    feed::Quote quote;
    quote.instrument = 1;
    quote.channel = 1;
    quote.bid_price = 5 * feed::kPriceScale;
    quote.bid_size = 1;
    writer->publish(quote);
    Program json{{"tail", "--ring", ring, "--depth", "2", "--format", "json"}};
    Program table{{"tail", "--ring", ring, "--depth", "3"}};
    ASSERT_TRUE(json.prints("QUOTED"));  // the board: it has joined
    ASSERT_TRUE(table.prints("QUOTED"));
    writer->publish(feed::Clear{.channel = 0});
    feed::Level level;
    level.instrument = 0;
    level.orders = 1;
    for (const auto& [side, price] : {std::pair{feed::Side::bid, 99}, {feed::Side::bid, 100}, {feed::Side::bid, 98}}) {
        level.side = side;
        level.price = price * feed::kPriceScale;
        level.size = static_cast<std::uint64_t>(price);
        writer->publish(level);
    }
    level.side = feed::Side::ask;
    level.price = 101 * feed::kPriceScale;
    level.flags = feed::kLast;
    writer->publish(level);
    const auto late =
        run({"tail", "--ring", ring, "--depth", "2", "--format", "json", "--symbol", "AAPL", "--count", "1"});
    EXPECT_THAT(late.out, HasSubstr(best));
    level.size = 0;
    level.flags = feed::kLast | feed::kIncomplete;
    writer->publish(level);
    writer.reset();
    const auto lines = json.wait();
    EXPECT_EQ(lines.exit_code, 0) << lines.err;
    EXPECT_THAT(lines.out, HasSubstr(best));
    EXPECT_THAT(lines.out, HasSubstr(R"({"type":"book","symbol":"AAPL","channel":0,)"));
    EXPECT_THAT(lines.out,
                HasSubstr(R"("asks":[],"incomplete":true,"reason":"1 event or board entry marked incomplete"})"));
    EXPECT_THAT(lines.out, Not(HasSubstr(R"("type":"level")")));
    EXPECT_THAT(lines.err, HasSubstr("published 6 = delivered 6 + filtered 0 + missed 0 + queued 0"));
    EXPECT_THAT(table.wait().out, HasSubstr(" 100.0000x100 99.0000x99 98.0000x98 | 101.0000x98, sequence "));
}

feed::Level bid(int price, std::uint64_t size = 1) {
    feed::Level level;
    level.instrument = 0;
    level.side = feed::Side::bid;
    level.price = price * feed::kPriceScale;
    level.size = size;
    level.orders = 1;
    level.flags = feed::kLast;
    return level;
}

TEST(TailDepth, ABookOfWhichEntriesWereMissedIsCompleteAgainFromTheBoard) {
    constexpr std::uint64_t kCapacity = 64;
    const auto ring = scratch_name("tail_lapped");
    std::optional<market::RingWriter> writer{
        std::in_place, market::RingWriterOptions{
                           .name = ring, .capacity = kCapacity, .max_instruments = 4, .max_channels = 1, .depth = 3}};
    ASSERT_TRUE(writer->set_depth(0, {.depth = 3}));
    ASSERT_TRUE(writer->name(0, feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}));
    writer->publish(feed::Clear{.channel = 0});
    writer->publish(bid(10));
    Program json{{"tail", "--ring", ring, "--depth", "3", "--format", "json"}};
    ASSERT_TRUE(json.prints(R"("bids":[{"price":10.0000,"size":1,"count":1}],"asks":[],"incomplete":false})"));
    json.signal(SIGSTOP);
    for (std::uint64_t n = 1; n <= 3 * kCapacity; ++n) writer->publish(bid(9, n));
    json.signal(SIGCONT);
    EXPECT_TRUE(json.prints(R"("type":"missed")"));
    EXPECT_TRUE(json.prints(
        R"("bids":[{"price":10.0000,"size":1,"count":1},{"price":9.0000,"size":192,"count":1}],"asks":[],"incomplete":false})"));
    writer.reset();
    EXPECT_EQ(json.wait().exit_code, 0);
}

TEST(TailDepth, ALateReaderOfAFeedWithAllLevelsSaysWhyABookIsIncomplete) {
    const auto ring = scratch_name("tail_full");
    std::optional<market::RingWriter> writer{
        std::in_place,
        market::RingWriterOptions{.name = ring, .capacity = 64, .max_instruments = 4, .max_channels = 1, .depth = 2}};
    ASSERT_TRUE(writer->set_depth(0, {.depth = feed::kFullDepth}));
    ASSERT_TRUE(writer->name(0, feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}));
    writer->publish(feed::Clear{.channel = 0});
    for (const int price : {8, 9, 10}) writer->publish(bid(price));
    Program table{{"tail", "--ring", ring, "--depth", "5"}};
    ASSERT_TRUE(
        table.prints(" 10.0000x1 9.0000x1 |, sequence 4, incomplete: 3 events or board entries marked incomplete"));
    writer->publish(feed::Clear{.channel = 0});
    writer->publish(bid(7));
    EXPECT_TRUE(table.prints(" 7.0000x1 |, sequence 6\n"));
    writer.reset();
    EXPECT_EQ(table.wait().exit_code, 0);
}

TEST(TailDepth, MoreLevelsThanTheFeedsSendAreRefused) {
    const auto ring = scratch_name("tail_deep");
    market::RingWriter writer{{.name = ring, .capacity = 64, .max_instruments = 4, .max_channels = 2, .depth = 3}};
    const auto refused = [&](const std::string& depth) {
        const auto outcome = run({"tail", "--ring", ring, "--depth", depth});
        EXPECT_EQ(outcome.exit_code, 1);
        return outcome.err;
    };
    EXPECT_THAT(refused("1"), HasSubstr("--depth: no feed of ring '" + ring + "' sends levels; set its key depth"));
    ASSERT_TRUE(writer.set_depth(0, {.depth = 3}));
    EXPECT_THAT(refused("4"), HasSubstr("--depth: 4 is more than the 3 levels that the feeds of ring"));
    EXPECT_EQ(run({"tail", "--ring", ring, "--depth", "3", "--format", "csv"}).exit_code, 2);
}

}  // namespace
}  // namespace millpond::app
