// `millpond tail --journal`: the events of a journal, then those of its ring.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <signal.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/journal/journal_writer.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using test::scratch_name;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// A ring and a journal that has its first entries. Trade N is entry N, and of second N.
class TailJournal : public ::testing::Test {
protected:
    static constexpr std::int64_t kSecond = 1'000'000'000;
    static constexpr std::int64_t kStart = 1'795'000'000 * kSecond;  // 2026-11-18T11:06:40Z

    TailJournal() {
        std::filesystem::remove_all(folder_);
        writer_.emplace(
            market::RingWriterOptions{.name = ring_, .capacity = 64, .max_instruments = 4, .max_channels = 2});
        EXPECT_TRUE(writer_->name(0, feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}));
        journal::JournalWriter journal{
            {.folder = folder_, .ring = ring_, .segment_bytes = 1U << 20U, .sync = journal::Sync::none}, kStart};
        journal.set_epoch(market::RingReader{{.name = ring_}}.epoch());
        journal.name(0, {feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}});
        for (std::uint64_t number = 1; number <= 5; ++number) {
            publish(number);
            EXPECT_TRUE(journal.append(trade(number), number));
        }
        for (std::uint64_t number = 6; number <= 8; ++number) publish(number);
    }
    ~TailJournal() override {
        std::filesystem::remove_all(folder_);
        std::filesystem::remove(position_);
    }
    static feed::Trade trade(std::uint64_t number) {
        feed::Trade trade;
        trade.instrument = 0;
        trade.trade_id = number;
        trade.price = 100 * feed::kPriceScale;
        trade.size = 1;
        trade.receive_utc_ns = kStart + static_cast<std::int64_t>(number) * kSecond;
        return trade;
    }
    void publish(std::uint64_t number) {
        writer_->publish(trade(number));
        writer_->heartbeat(core::utc_nanos());
    }
    [[nodiscard]] std::vector<std::string> arguments(std::vector<std::string> more) const {
        more.insert(more.begin(), {"tail", "--journal", folder_, "--format", "json"});
        return more;
    }
    /// The numbers of the trades in lines of JSON.
    static std::vector<int> trades(const std::string& lines) {
        constexpr std::string_view kKey = "\"trade_id\":";
        std::vector<int> found;
        for (auto at = lines.find(kKey); at != std::string::npos; at = lines.find(kKey, at + 1))
            found.push_back(std::stoi(lines.substr(at + kKey.size())));
        return found;
    }

    std::string ring_{scratch_name("tail_journal")};
    std::string folder_{::testing::TempDir() + ring_};
    std::string position_{folder_ + ".position"};
    std::optional<market::RingWriter> writer_;
};

TEST_F(TailJournal, PrintsTheJournalThenTheRingEachEventOnce) {
    Program tail{arguments({"--count", "10"})};
    ASSERT_TRUE(tail.prints("\"trade_id\":8"));
    publish(9);
    publish(10);
    const auto outcome = tail.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(trades(outcome.out), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    EXPECT_EQ(outcome.err,
              "millpond: tail: the requested number of events; live; published 10 = delivered 10 + filtered 0 + missed "
              "0 + queued 0\n");
}

TEST_F(TailJournal, BeginsAtATimeOrARecord) {
    const auto of = [&](const std::string& from, const std::string& count) {
        return trades(run(arguments({"--from", from, "--count", count})).out);
    };
    EXPECT_THAT(of("2026-11-18T11:06:43.5Z", "5"), ElementsAre(4, 5, 6, 7, 8));
    EXPECT_THAT(of("record:3", "2"), ElementsAre(2, 3));  // record 1 is the name
    for (const std::string wrong : {"noon", "record:", "record:0", "record:x", "3"}) {
        const auto outcome = run(arguments({"--from", wrong}));
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_THAT(outcome.err, HasSubstr("'" + wrong + "' is neither a time in UTC like")) << wrong;
    }
}

TEST_F(TailJournal, BooksAreCompleteFromTheFirstEventOnIfTheJournalHasACheckpoint) {
    std::filesystem::remove_all(folder_);
    std::uint64_t from = 0;
    {
        journal::JournalWriter journal{
            {.folder = folder_, .ring = ring_, .segment_bytes = 1U << 20U, .sync = journal::Sync::none}, kStart};
        journal.set_epoch(1);
        journal.keep_books();
        journal.name(0, {feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}});
        journal.set_depth(0, {.depth = 2});
        std::uint64_t ring = 0;
        const auto bid = [&](feed::Price dollars) {
            EXPECT_TRUE(journal.append(feed::Level{.instrument = 0,
                                                   .flags = feed::kLast,
                                                   .side = feed::Side::bid,
                                                   .orders = 1,
                                                   .price = dollars * feed::kPriceScale,
                                                   .size = 7},
                                       ++ring));
        };
        EXPECT_TRUE(journal.append(feed::Clear{}, ++ring));
        bid(100);
        journal.end_books();
        from = journal.next_record();
        bid(101);
    }
    const auto outcome = run(arguments({"--from", "record:" + std::to_string(from), "--depth", "2", "--count", "1"}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(R"("price":101.0000)"));
    EXPECT_THAT(outcome.out, HasSubstr(R"("price":100.0000)"));
    EXPECT_THAT(outcome.out, HasSubstr(R"("incomplete":false)"));
    EXPECT_THAT(outcome.err, HasSubstr("published 1 = delivered 1 + filtered 0"));
}

TEST_F(TailJournal, ASavedPositionContinuesAfterTheLastEventThatWasPrinted) {
    EXPECT_THAT(trades(run(arguments({"--position", position_, "--count", "3"})).out), ElementsAre(1, 2, 3));
    EXPECT_THAT(trades(run(arguments({"--position", position_, "--count", "4"})).out), ElementsAre(4, 5, 6, 7));
    Program tail{arguments({"--position", position_})};
    ASSERT_TRUE(tail.prints("\"trade_id\":8"));
    publish(9);
    ASSERT_TRUE(tail.prints("\"trade_id\":9"));
    tail.signal(SIGTERM);
    EXPECT_THAT(trades(tail.wait().out), ElementsAre(8, 9));
    publish(10);
    EXPECT_THAT(trades(run(arguments({"--position", position_, "--count", "1"})).out), ElementsAre(10));
}

TEST_F(TailJournal, AfterAKillTheSavedPositionSkipsNoEvent) {
    Program tail{arguments({"--position", position_})};
    ASSERT_TRUE(tail.prints("\"trade_id\":8"));
    publish(9);
    ASSERT_TRUE(tail.prints("\"trade_id\":9"));
    tail.signal(SIGKILL);
    tail.wait();
    publish(10);
    Program next{arguments({"--position", position_})};
    ASSERT_TRUE(next.prints("\"trade_id\":10"));
    next.signal(SIGTERM);
    const auto again = trades(next.wait().out);
    EXPECT_LE(again.size(), 10U);
    for (std::size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[again.size() - 1 - i], 10 - static_cast<int>(i));
}

TEST_F(TailJournal, ASymbolWithoutAnInstrumentIsNamedOnceTheJournalIsRead) {
    const auto absent = "no instrument 'aapl' in journal '" + folder_ + "' yet; there is 'AAPL'\n";
    Program tail{arguments({"--symbol", "aapl", "--symbol", "AAPL"})};
    ASSERT_TRUE(tail.prints(absent));
    tail.signal(SIGTERM);
    const auto outcome = tail.wait();
    EXPECT_THAT(outcome.err, Not(HasSubstr("no instrument 'AAPL'")));
    EXPECT_EQ(outcome.err.find(absent), outcome.err.rfind(absent));
    EXPECT_THAT(trades(outcome.out), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
    EXPECT_THAT(run(arguments({"--symbol", "aapl", "--symbol", "AAPL", "--count", "1"})).err, HasSubstr(absent));
}

TEST_F(TailJournal, MoreLevelsThanTheFeedsOfTheJournalSentAreRefused) {
    const auto refused = [&](const std::string& depth) {
        const auto outcome = run(arguments({"--depth", depth}));
        EXPECT_EQ(outcome.exit_code, 1);
        return outcome.err;
    };
    EXPECT_THAT(refused("1"), HasSubstr("--depth: no feed of journal '" + folder_ + "' sends levels"));
    {
        journal::JournalWriter journal{
            {.folder = folder_, .ring = ring_, .segment_bytes = 1U << 20U, .sync = journal::Sync::none}, kStart};
        journal.set_epoch(market::RingReader{{.name = ring_}}.epoch());
        journal.name(0, {feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}});
        journal.set_depth(0, {.depth = 3});
        EXPECT_TRUE(journal.append(trade(6), 6));
    }
    EXPECT_THAT(refused("4"), HasSubstr("--depth: 4 is more than the 3 levels that the feeds of journal"));
    EXPECT_EQ(run(arguments({"--depth", "3", "--count", "1"})).exit_code, 0);
}

TEST_F(TailJournal, AnInstrumentWithALargeIdHasABookToo) {
    constexpr feed::InstrumentId kId = 1U << 20U;  // a segment of this size has no space for its name
    const auto folder = folder_ + ".large";
    {
        journal::JournalWriter journal{
            {.folder = folder, .ring = scratch_name("none"), .segment_bytes = 1U << 20U, .sync = journal::Sync::none},
            kStart};
        journal.set_epoch(1);
        journal.set_depth(0, {.depth = 3});
        feed::Level level;
        level.instrument = kId;
        level.side = feed::Side::bid;
        level.price = 50 * feed::kPriceScale;
        level.size = 7;
        level.flags = feed::kLast;
        EXPECT_TRUE(journal.append(level, 1));
        level.instrument = 0xFFFF'FFF0;  // no writer of a ring has it
        EXPECT_TRUE(journal.append(level, 2));
        level.instrument = kId;
        EXPECT_TRUE(journal.append(level, 3));
    }
    const auto outcome =
        run({"tail", "--journal", folder, "--format", "json", "--depth", "3", "--count", "2", "--symbol", "#1048576"});
    std::filesystem::remove_all(folder);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("\"bids\""));
    EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 2);
}

TEST_F(TailJournal, WrongPathsAreRefused) {
    auto outcome = run({"tail", "--from", "record:1"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--from needs --journal FOLDER"));
    EXPECT_THAT(run({"tail", "--position", position_}).err, HasSubstr("--position needs --journal FOLDER"));
    outcome = run(arguments({"--position", folder_ + "/lock"}));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("is a file of the journal"));
    EXPECT_EQ(run({"tail", "--journal", folder_ + "-none"}).exit_code, 1);
    outcome = run({"tail", "--journal", ::testing::TempDir()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("is not a journal: it holds no segment"));
}

}  // namespace
}  // namespace millpond::app
