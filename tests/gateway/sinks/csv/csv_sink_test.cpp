#include "gateway/sinks/csv/csv_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/sinks/sink_thread.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"

namespace millpond::gateway::csv {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in{path};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

constexpr std::string_view kTradesHeader =
    "timestamp,symbol,exchange_timestamp,sequence,price,shares,trade_id,channel,flags\n";
constexpr std::string_view kOrdersHeader =
    "timestamp,symbol,exchange_timestamp,sequence,action,side,order_id,price,size,size_left,trade_id,channel,flags\n";
constexpr std::string_view kLevelsHeader =
    "timestamp,symbol,exchange_timestamp,sequence,side,price,size,count,channel,flags\n";

feed::Order order_of(std::uint64_t id, std::uint16_t flags = 0) {
    feed::Order order;
    order.instrument = 0;
    order.flags = flags;
    order.side = feed::Side::bid;
    order.order_id = id;
    order.price = feed::kPriceScale;
    order.size = order.size_left = 5;
    order.receive_utc_ns = 7;
    return order;
}

feed::Level level_of(std::uint64_t size, std::uint16_t flags = 0) {
    feed::Level level;
    level.instrument = 0;
    level.flags = flags;
    level.side = feed::Side::bid;
    level.orders = 1;
    level.price = feed::kPriceScale;
    level.size = size;
    level.receive_utc_ns = 7;
    return level;
}

std::string order_row(std::uint64_t id, std::string_view flags = "") {
    return "7,AAPL,0,0,add,bid," + std::to_string(id) + ",1.0000,5,5,0,0," + std::string{flags} + "\n";
}
std::string level_row(std::uint64_t size, std::string_view flags = "") {
    return "7,AAPL,0,0,bid,1.0000," + std::to_string(size) + ",1,0," + std::string{flags} + "\n";
}

class CsvSinkTest : public ::testing::Test {
protected:
    CsvSinkTest() { std::filesystem::create_directories(folder_); }
    ~CsvSinkTest() override { std::filesystem::remove_all(folder_); }

    std::unique_ptr<CsvSink> open(const std::function<void(Settings&)>& change = {},
                                  mode_t file_mode = core::kFileMode) {
        const auto settings = test::settings_with<Settings>([&](Settings& s) {
            s.path = path();
            if (change) change(s);
        });
        auto sink = std::make_unique<CsvSink>(
            settings, file_mode,
            [this](service::Severity, std::string_view, const std::string& text) { said_.push_back(text); });
        sink->name(0, feed::Venue{}, feed::Symbol{"AAPL"}, feed::kDefaultDecimals);
        sink->name(1, feed::Venue{}, feed::Symbol{"A,B"}, feed::kDefaultDecimals);
        return sink;
    }
    [[nodiscard]] std::string path() const { return folder_ / "quotes.csv"; }
    [[nodiscard]] std::string trades() const { return folder_ / "quotes.trades.csv"; }
    [[nodiscard]] std::string orders() const { return folder_ / "quotes.orders.csv"; }
    [[nodiscard]] std::string levels() const { return folder_ / "quotes.levels.csv"; }

    std::filesystem::path folder_{std::filesystem::path{::testing::TempDir()} /
                                  ("millpond_csv_" + std::to_string(getpid()))};
    std::vector<std::string> said_;
};

TEST_F(CsvSinkTest, EveryQuoteIsARowBehindTheHeader) {
    auto sink = open();
    EXPECT_EQ(sink->on(quote_of(0, feed::price_from<10'000>(1'892'400)), 1), Admission::kept);
    EXPECT_EQ(sink->on(quote_of(1, feed::price_from<10'000>(50'000), 7), 2), Admission::kept);
    EXPECT_EQ(sink->on(feed::Status{}, 3), Admission::filtered);
    EXPECT_EQ(sink->held(), 2U);
    sink->step(kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_EQ(text_of(path()),
              "timestamp,symbol,bid_price,bid_shares,ask_price,ask_shares,spread,channel,flags\n"
              "1700000000000000000,AAPL,189.2400,100,189.2500,100,0.0100,0,\n"
              "1700000000000000000,\"A,B\",5.0000,7,5.0100,7,0.0100,0,\n");
}

TEST_F(CsvSinkTest, TradesOrdersAndLevelsHaveFilesOfTheirOwnFromTheirFirstEventOn) {
    auto sink = open();
    sink->on(quote_of(0, feed::kPriceScale), 1);
    sink->step(kSecondNs);
    for (const auto& file : {trades(), orders(), levels()}) EXPECT_FALSE(std::filesystem::exists(file)) << file;
    auto trade = trade_of(0, feed::kPriceScale + 1);
    trade.flags = feed::kHidden | feed::kLast;
    EXPECT_EQ(sink->on(trade, 2), Admission::kept);
    EXPECT_EQ(sink->on(feed::TradeBreak{.instrument = 0, .trade_id = 9, .receive_utc_ns = 8}, 3), Admission::kept);
    EXPECT_EQ(sink->on(order_of(4, feed::kLast), 4), Admission::kept);
    EXPECT_EQ(sink->on(level_of(5, feed::kIncomplete | feed::kLast), 5), Admission::kept);
    EXPECT_EQ(sink->held(), 4U);
    sink->step(2 * kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_EQ(text_of(trades()),
              std::string{kTradesHeader} + "0,AAPL,0,0,1.000000001,1,0,0,hidden\n8,AAPL,0,0,,,9,0,broken\n");
    EXPECT_EQ(text_of(orders()), std::string{kOrdersHeader} + order_row(4, "last"));
    EXPECT_EQ(text_of(levels()), std::string{kLevelsHeader} + level_row(5, "incomplete+last"));
    EXPECT_EQ(text_of(path()),
              std::string{feed::kCsvHeader} + "1700000000000000000,AAPL,1.0000,100,1.0100,100,0.0100,0,\n")
        << "the quotes have their file for themselves";
    EXPECT_EQ(sink->counters().rows.read(), 5U);
    EXPECT_EQ(sink->counters().files.read(), 4U);
}

TEST_F(CsvSinkTest, TheLastOrderAndLevelOfAGroupSaySoAndAnOpenGroupWaits) {
    auto sink = open();
    sink->on(order_of(1), 1);
    sink->on(order_of(2), 2);
    sink->on(level_of(3), 3);
    sink->on(level_of(4), 4);
    EXPECT_EQ(sink->held(), 4U);
    sink->step(kSecondNs);
    EXPECT_EQ(sink->held(), 1U) << "the level that may be the last one";
    auto quote = quote_of(0, feed::kPriceScale);
    quote.flags = feed::kLast;
    sink->on(quote, 5);
    sink->on(level_of(6), 6);
    sink->missed(7, 9);
    sink->step(2 * kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_EQ(text_of(orders()).substr(0, kOrdersHeader.size() + 2 * order_row(1).size() + 4),
              std::string{kOrdersHeader} + order_row(1) + order_row(2, "last"));
    EXPECT_THAT(text_of(levels()),
                ::testing::StartsWith(std::string{kLevelsHeader} + level_row(3) + level_row(4, "last") + level_row(6)));
    EXPECT_THAT(text_of(path()), HasSubstr(",0.0100,0,\n")) << "a quote has no group in its file";
}

TEST_F(CsvSinkTest, ABookThatAMessageContradictsIsMarkedInTheFilesOfOrdersAndLevels) {
    auto sink = open();
    sink->on(order_of(2, feed::kLast), 1);
    sink->on(level_of(3, feed::kLast), 2);
    auto quote = quote_of(0, feed::kPriceScale);
    quote.receive_utc_ns = 17;
    std::uint64_t number = 2;
    for (const int flags : {1, 1, 0, 1}) {
        quote.flags = static_cast<std::uint16_t>((flags * feed::kIncomplete) | feed::kLast);
        sink->on(quote, ++number);
    }
    sink->step(kSecondNs);
    for (const auto& text : {text_of(orders()), text_of(levels())}) {
        EXPECT_THAT(text, ::testing::MatchesRegex(".*last\n(17,[^\n]*,,[^\n]*,incomplete\n){2}"));
    }
}

TEST_F(CsvSinkTest, AGapALossAndAClearAreRowsOfEveryFileThatTheyConcern) {
    auto sink = open();
    sink->on(trade_of(0, feed::kPriceScale), 1);
    sink->on(order_of(2, feed::kLast), 2);
    sink->on(level_of(3, feed::kLast), 3);
    EXPECT_EQ(sink->on(feed::Gap{.channel = 2, .receive_utc_ns = 17}, 4), Admission::kept);
    EXPECT_EQ(sink->held(), 4U) << "one event, whatever the number of its rows";
    sink->missed(5, 9);
    EXPECT_EQ(sink->on(feed::Clear{.instrument = 1,
                                   .channel = 2,
                                   .flags = feed::kIncomplete,
                                   .reason = feed::ClearReason::sender_request,
                                   .receive_utc_ns = 18},
                       10),
              Admission::filtered);
    sink->step(kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_THAT(text_of(trades()), ::testing::MatchesRegex(".*\n17,,,,,,,2,gap\n[0-9]+,,,,,,,,missed\n"));
    EXPECT_THAT(text_of(orders()), ::testing::MatchesRegex(".*\n17,,,,,,,,,,,2,gap\n[0-9]+,,,,,,,,,,,,missed\n"
                                                           "18,\"A,B\",,,,,,,,,,2,incomplete.clear\n"));
    EXPECT_THAT(text_of(levels()), ::testing::MatchesRegex(".*\n17,,,,,,,,2,gap\n[0-9]+,,,,,,,,,missed\n"
                                                           "18,\"A,B\",,,,,,,2,incomplete.clear\n"));
}

TEST_F(CsvSinkTest, AFileWhoseFirstEventComesAfterALossBeginsWithARowOfIt) {
    auto sink = open();
    sink->missed(1, 3);
    sink->on(level_of(4, feed::kLast), 4);
    sink->on(level_of(5, feed::kLast), 5);
    sink->step(kSecondNs);
    EXPECT_THAT(text_of(levels()), ::testing::MatchesRegex(std::string{kLevelsHeader} + "[0-9]+,,,,,,,,,missed\n" +
                                                           level_row(4, "last") + level_row(5, "last")));
    EXPECT_FALSE(std::filesystem::exists(trades()));
}

TEST_F(CsvSinkTest, ANewSessionBeginsANewFileOfEveryKindThatHasRows) {
    auto sink = open([](Settings& s) { s.keep = 1; });
    std::uint64_t number = 0;
    for (std::uint64_t session = 1; session <= 3; ++session) {
        sink->on(trade_of(0, feed::kPriceScale), ++number);
        sink->on(level_of(session, feed::kLast), ++number);
        sink->on(new_session_of(), ++number);
        sink->on(new_session_of(1), ++number);
    }
    sink->on(level_of(4, feed::kLast), ++number);
    sink->step(kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    const std::string clears = "1700000000000000000,,,,,,,,0,clear\n1700000000000000000,,,,,,,,1,clear\n";
    EXPECT_FALSE(std::filesystem::exists(levels() + ".2"));
    EXPECT_EQ(text_of(levels() + ".3"), std::string{kLevelsHeader} + clears + level_row(3, "last"));
    EXPECT_EQ(text_of(levels()), std::string{kLevelsHeader} + clears + level_row(4, "last"));
    EXPECT_TRUE(std::filesystem::exists(trades() + ".3"));
    EXPECT_EQ(text_of(trades()), kTradesHeader);
    EXPECT_FALSE(std::filesystem::exists(path() + ".1")) << "no quotes, no file of a session";
}

TEST_F(CsvSinkTest, LevelsOfTheBoardAreTheFirstRows) {
    auto sink = open();
    auto begin = level_of(0, feed::kSnapshot);
    begin.side = feed::Side::none;
    begin.price = 0;
    begin.orders = 0;
    sink->board(begin, 9);
    sink->board(level_of(5, feed::kSnapshot | feed::kLast), 9);
    sink->on(level_of(6, feed::kLast), 10);
    EXPECT_EQ(sink->held(), 1U);
    sink->step(kSecondNs);
    EXPECT_EQ(text_of(levels()), std::string{kLevelsHeader} + "7,AAPL,0,0,none,0.0000,0,0,0,snapshot\n" +
                                     level_row(5, "snapshot+last") + level_row(6, "last"));
}

TEST_F(CsvSinkTest, ConflatingAndIntoAPipeItWritesQuotesOnly) {
    const auto expect_quotes_only = [](CsvSink& sink) {
        EXPECT_EQ(sink.on(trade_of(0, feed::kPriceScale), 1), Admission::filtered);
        EXPECT_EQ(sink.on(feed::TradeBreak{}, 2), Admission::filtered);
        EXPECT_EQ(sink.on(order_of(3, feed::kLast), 3), Admission::filtered);
        EXPECT_EQ(sink.on(level_of(4), 4), Admission::filtered);
        sink.board(level_of(4), 4);
        EXPECT_EQ(sink.on(feed::Gap{}, 5), Admission::kept);
        EXPECT_EQ(sink.held(), 1U);
    };
    expect_quotes_only(*open([](Settings& s) { s.mode = Delivery::conflate; }));
    std::filesystem::remove(path());
    ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
    expect_quotes_only(*open());
    EXPECT_TRUE(paths_beside(path()).empty());
    for (const auto& file : {trades(), orders(), levels()}) EXPECT_FALSE(std::filesystem::exists(file)) << file;
}

TEST_F(CsvSinkTest, AReplacementContinuesAtTheFirstUnwrittenEventOfAnyFile) {
    auto sink = open();
    sink->on(quote_of(0, feed::kPriceScale), 1);
    sink->on(level_of(2, feed::kLast), 2);
    sink->on(level_of(3), 3);  // its group is open
    sink->finish();
    EXPECT_EQ(sink->next_wanted(4), 3U);
    EXPECT_EQ(sink->held(), 1U);
    sink.reset();
    sink = open();
    EXPECT_EQ(sink->resume_at(1, 3), 3U);
    sink->on(level_of(3), 3);
    sink->on(level_of(4), 4);
    auto quote = quote_of(0, feed::kPriceScale);
    quote.flags = feed::kLast;
    sink->on(quote, 5);
    sink->finish();
    EXPECT_EQ(sink->next_wanted(6), 6U);
    EXPECT_EQ(text_of(levels() + ".1"), std::string{kLevelsHeader} + level_row(2, "last"));
    EXPECT_EQ(text_of(levels()), std::string{kLevelsHeader} + level_row(3) + level_row(4, "last"));
}

TEST_F(CsvSinkTest, IfOneFileIsAheadOfAnotherTheReplacementStartsWithTheBoardAndSaysSo) {
    std::filesystem::create_directory(levels());  // the file cannot be opened
    {
        auto sink = open();
        sink->on(level_of(1, feed::kLast), 1);
        sink->on(quote_of(0, feed::kPriceScale), 2);
        sink->step(kSecondNs);
        EXPECT_EQ(sink->held(), 1U);
        EXPECT_EQ(sink->counters().write_errors.read(), 1U);
        ASSERT_EQ(said_.size(), 1U);
        EXPECT_THAT(said_[0], HasSubstr("csv sink 'csv': cannot open '" + levels() + "': "));
        EXPECT_EQ(sink->next_wanted(3), std::nullopt);
    }
    std::filesystem::remove(levels());
    auto sink = open();
    EXPECT_EQ(sink->resume_at(1, std::nullopt), std::nullopt);
    sink->on(level_of(3, feed::kLast), 3);
    sink->finish();
    EXPECT_THAT(text_of(levels()),
                ::testing::MatchesRegex(std::string{kLevelsHeader} + "[0-9]+,,,,,,,,,missed\n" + level_row(3, "last")));
}

TEST_F(CsvSinkTest, APriceHasTheDecimalsOfItsInstrumentOrAsManyAsItNeeds) {
    auto sink = open();
    sink->name(2, feed::Venue{}, feed::Symbol{"6E"}, 2);
    sink->on(quote_of(2, feed::price_from<100>(108)), 1);
    sink->on(quote_of(2, feed::price_from<1'000'000>(1'085'075)), 2);
    sink->step(kSecondNs);
    EXPECT_THAT(text_of(path()), ::testing::HasSubstr(",6E,1.08,100,1.09,100,0.01,0,\n"));
    EXPECT_THAT(text_of(path()), ::testing::HasSubstr(",6E,1.085075,100,1.095075,100,0.01,0,\n"));
}

TEST_F(CsvSinkTest, AGapAndALossAreRowsAndIncompleteQuotesSaySo) {
    auto sink = open();
    auto quote = quote_of(0, feed::price_from<10'000>(1'892'400));
    quote.channel = 2;
    quote.flags = feed::kIncomplete;
    EXPECT_EQ(sink->on(feed::Gap{.channel = 2, .first = 3, .last = 9, .receive_utc_ns = 17}, 1), Admission::kept);
    EXPECT_EQ(sink->on(quote, 2), Admission::kept);
    EXPECT_EQ(sink->held(), 2U);
    sink->missed(3, 9);
    EXPECT_EQ(sink->held(), 2U) << "a loss is no event";
    sink->step(kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    const auto text = text_of(path());
    EXPECT_THAT(text, HasSubstr("flags\n17,,,,,,,2,gap\n"
                                "1700000000000000000,AAPL,189.2400,100,189.2500,100,0.0100,2,incomplete\n"));
    EXPECT_THAT(text, ::testing::EndsWith(",,,,,,,,missed\n"));
    EXPECT_EQ(sink->counters().rows.read(), 2U);
}

TEST_F(CsvSinkTest, ALaterRunSaysThatRowsMayBeMissingBeforeIt) {
    {
        auto sink = open([&](Settings& s) { s.flush = std::chrono::seconds{5}; });
        EXPECT_EQ(sink->resume_at(1, std::nullopt), std::nullopt);
        sink->on(quote_of(0, feed::price_from<10'000>(10'000)), 1);
        sink->finish();
        EXPECT_THAT(text_of(path()), ::testing::Not(HasSubstr("missed")));
    }
    {
        auto sink = open();
        EXPECT_EQ(sink->resume_at(2, std::nullopt), std::nullopt);
        sink->on(quote_of(0, feed::price_from<10'000>(20'000)), 1);
        sink->step(kSecondNs);
        EXPECT_EQ(sink->held(), 0U);
        EXPECT_EQ(sink->counters().rows.read(), 1U);
        EXPECT_THAT(text_of(path()),
                    ::testing::MatchesRegex("timestamp[^\n]*\n[0-9]+,,,,,,,,missed\n[^\n]*AAPL,2.0000[^\n]*\n"));
    }
    auto sink = open();  // a reload: it continues
    EXPECT_EQ(sink->resume_at(2, 2), std::optional<std::uint64_t>{2});
    sink->on(quote_of(0, feed::price_from<10'000>(30'000)), 2);
    sink->step(kSecondNs);
    EXPECT_THAT(text_of(path()), ::testing::Not(HasSubstr("missed")));
}

TEST_F(CsvSinkTest, RowsWaitForTheFlushTimeAndAreWrittenAtTheEnd) {
    auto sink = open([&](Settings& s) { s.flush = std::chrono::seconds{5}; });
    sink->step(10 * kSecondNs);  // writes the header
    sink->on(quote_of(0, feed::price_from<10'000>(10'000)), 1);
    sink->step(12 * kSecondNs);
    EXPECT_EQ(sink->held(), 1U);
    sink->finish();
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_THAT(text_of(path()), HasSubstr("AAPL,1.0000"));
}

TEST_F(CsvSinkTest, AFullFileIsRenamedAndEachFileHasItsHeader) {
    auto sink = open([&](Settings& s) { s.rotate_bytes = 300; });
    constexpr int kRows = 20;
    for (int i = 1; i <= kRows; ++i) {
        sink->on(quote_of(0, i * feed::kPriceScale), static_cast<std::uint64_t>(i));
        sink->step(i * kSecondNs);
    }
    std::string rows;
    int files = 0;
    for (int number = 1; std::filesystem::exists(path() + "." + std::to_string(number)); ++number) {
        const auto text = text_of(path() + "." + std::to_string(number));
        EXPECT_TRUE(text.starts_with(feed::kCsvHeader));
        EXPECT_GE(text.size(), 300U);
        rows += text.substr(feed::kCsvHeader.size());
        ++files;
    }
    EXPECT_GE(files, 3);
    rows += text_of(path()).substr(feed::kCsvHeader.size());
    std::string expected;
    for (int i = 1; i <= kRows; ++i) {
        expected += "1700000000000000000,AAPL," + std::to_string(i) + ".0000,100," + std::to_string(i) +
                    ".0100,100,0.0100,0,\n";
    }
    EXPECT_EQ(rows, expected);
}

TEST_F(CsvSinkTest, ANewSessionOfAChannelBeginsANewFileAlsoBetweenRowsThatWait) {
    auto sink = open();
    const auto row = [](int bid) {
        return "1700000000000000000,AAPL," + std::to_string(bid) + ".0000,100," + std::to_string(bid) +
               ".0100,100,0.0100,0,\n";
    };
    EXPECT_EQ(sink->on(new_session_of(), 1), Admission::filtered);  // there is no file yet
    for (std::uint64_t session = 1; session <= 3; ++session) {
        sink->on(quote_of(0, static_cast<feed::Price>(session) * feed::kPriceScale), 2 * session);
        EXPECT_EQ(sink->on(new_session_of(), 2 * session + 1), Admission::filtered);
        EXPECT_EQ(sink->on(new_session_of(1), 2 * session + 1), Admission::filtered);
    }
    feed::Clear end = new_session_of();
    end.reason = feed::ClearReason::end_of_session;
    sink->on(quote_of(0, feed::price_from<10'000>(40'000)), 8);
    sink->on(end, 9);
    sink->on(quote_of(0, feed::price_from<10'000>(50'000)), 10);
    sink->step(kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_EQ(sink->counters().rows.read(), 5U);
    for (int session = 1; session <= 3; ++session)
        EXPECT_EQ(text_of(path() + "." + std::to_string(session)), std::string{feed::kCsvHeader} + row(session));
    EXPECT_EQ(text_of(path()), std::string{feed::kCsvHeader} + row(4) + row(5));
    EXPECT_FALSE(std::filesystem::exists(path() + ".4"));
}

TEST_F(CsvSinkTest, AFileThatIsMovedOrRemovedIsFollowedByANewOne) {
    const auto sink = open([&](Settings& s) { s.flush = std::chrono::nanoseconds{0}; });
    std::int64_t now = 0;
    const auto write = [&](std::uint64_t number) {
        static_cast<void>(sink->on(quote_of(0, static_cast<feed::Price>(number)), number));
        sink->step(now += kSecondNs);
    };
    write(1);
    std::filesystem::rename(path(), path() + ".moved");
    write(2);
    const auto second = text_of(path());
    EXPECT_THAT(second, ::testing::StartsWith(feed::kCsvHeader));
    EXPECT_EQ(std::count(second.begin(), second.end(), '\n'), 2);
    EXPECT_EQ(std::ranges::count(text_of(path() + ".moved"), '\n'), 2);
    std::filesystem::remove(path());
    write(3);
    EXPECT_EQ(std::ranges::count(text_of(path()), '\n'), 2);
    ASSERT_EQ(said_.size(), 2U);
    EXPECT_THAT(said_[0], HasSubstr("quotes.csv' was moved or removed; continuing in a new file"));
    EXPECT_EQ(sink->counters().write_errors.read(), 0U);
}

TEST_F(CsvSinkTest, OnlySoManyRenamedFilesAreKeptTheOldestGoFirst) {
    std::ofstream{path() + ".old"} << "not ours";
    auto sink = open([&](Settings& s) { s.keep = 2; });
    for (int session = 1; session <= 12; ++session) {
        sink->on(quote_of(0, session * feed::kPriceScale), 1);
        sink->on(new_session_of(), 2);
    }
    sink->finish();
    EXPECT_FALSE(std::filesystem::exists(path() + ".10"));
    EXPECT_THAT(text_of(path() + ".11"), HasSubstr("AAPL,11.0000"));
    EXPECT_THAT(text_of(path() + ".12"), HasSubstr("AAPL,12.0000"));
    EXPECT_TRUE(std::filesystem::exists(path() + ".old"));
}

TEST_F(CsvSinkTest, AFileThatNoCsvSinkWroteIsRefusedByName) {
    std::ofstream{path()} << "precious";
    EXPECT_THROW(check_path(path()), std::invalid_argument);
    try {
        static_cast<void>(open());
        FAIL();
    } catch (const std::system_error& error) {
        EXPECT_THAT(error.what(), HasSubstr(path() + "' (a file of another kind is there"));
    }
    EXPECT_EQ(text_of(path()), "precious");
    std::ofstream{path(), std::ios::trunc} << "timestamp,symbol,bid_price,bid_shares,ask_price,ask_shares,spread\n";
    EXPECT_NO_THROW(check_path(path())) << "an earlier version's file";
    std::ofstream{levels()} << feed::kCsvHeader;
    try {
        check_path(path());
        FAIL() << "a file of quotes is none of levels";
    } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), HasSubstr("path '" + levels() + "' is a file that is not a CSV file of millpond"));
    }
}

TEST_F(CsvSinkTest, AFileOfAnEarlierRunIsKept) {
    const auto cut_off = std::string{feed::kCsvHeader} + "half a ro";
    std::ofstream{path()} << cut_off;
    std::ofstream{path() + ".1"} << "older";
    auto sink = open();
    sink->on(quote_of(0, feed::price_from<10'000>(10'000)), 1);
    sink->finish();
    EXPECT_EQ(text_of(path() + ".1"), "older");
    EXPECT_EQ(text_of(path() + ".2"), cut_off);
    EXPECT_TRUE(text_of(path()).starts_with(feed::kCsvHeader));
}

TEST_F(CsvSinkTest, ConflatingItTakesRowsOnlyWhenTheTimeHasCome) {
    auto sink = open([&](Settings& s) {
        s.mode = Delivery::conflate;
        s.flush = std::chrono::seconds{1};
    });
    sink->step(10 * kSecondNs);
    EXPECT_EQ(sink->available(), 0U);
    sink->step(12 * kSecondNs);
    EXPECT_GT(sink->available(), 0U);
    sink->on(quote_of(0, feed::price_from<10'000>(10'000)), 1);
    sink->step(12 * kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_EQ(sink->available(), 0U);
}

TEST_F(CsvSinkTest, ADeviceThatIsFullIsCountedAndTriedAgain) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    auto sink = open([&](Settings& s) { s.path = "/dev/full"; });
    sink->on(quote_of(0, feed::price_from<10'000>(10'000)), 1);
    sink->step(1 * kSecondNs);
    EXPECT_EQ(sink->counters().write_errors.read(), 1U);
    sink->step(1 * kSecondNs + 1);  // too early
    EXPECT_EQ(sink->counters().write_errors.read(), 1U);
    sink->step(2 * kSecondNs);
    EXPECT_EQ(sink->counters().write_errors.read(), 2U);
    EXPECT_EQ(sink->held(), 1U);
    ASSERT_FALSE(said_.empty());
    EXPECT_EQ(said_[0], "csv sink 'csv': cannot write '/dev/full': No space left on device; retrying");
}

TEST_F(CsvSinkTest, AFullPipeHoldsUpNothingAndLosesNoRow) {
    ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
    auto sink = open();
    EXPECT_EQ(sink->counters().files.read(), 0U) << "without a reader";
    const int reader = ::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    std::uint64_t accepted = 0;
    std::int64_t now = kSecondNs;
    for (; sink->available() != 0 && accepted < 1'000'000; now += kSecondNs) {
        for (auto capacity = sink->available(); capacity != 0; --capacity)
            sink->on(quote_of(0, feed::price_from<10'000>(10'000)), ++accepted);
        sink->step(now);
    }
    EXPECT_EQ(sink->available(), 0U);
    EXPECT_GT(sink->held(), 0U);
    EXPECT_EQ(sink->counters().write_errors.read(), 0U) << "a full pipe is not an error";
    std::string text;
    for (int round = 0; round < 1'000 && sink->held() != 0; ++round, now += kSecondNs) {
        std::array<char, 65'536> part;
        for (ssize_t got = 0; (got = ::read(reader, part.data(), part.size())) > 0;)
            text.append(part.data(), static_cast<std::size_t>(got));
        sink->step(now);
    }
    EXPECT_EQ(sink->held(), 0U);
    std::array<char, 65'536> part;
    for (ssize_t got = 0; (got = ::read(reader, part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(got));
    ::close(reader);
    const std::string row = "1700000000000000000,AAPL,1.0000,100,1.0100,100,0.0100,0,\n";
    std::string expected{feed::kCsvHeader};
    for (std::uint64_t i = 0; i < accepted; ++i) expected += row;
    EXPECT_TRUE(text == expected) << text.size() << " bytes, " << expected.size() << " expected";
}

TEST_F(CsvSinkTest, WhileNothingCanBeWrittenItTakesABoundedNumberOfQuotes) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    auto sink = open([&](Settings& s) { s.path = "/dev/full"; });
    std::uint64_t accepted = 0;
    for (std::int64_t now = kSecondNs; sink->available() != 0 && accepted < 1'000'000; now += kSecondNs) {
        for (auto capacity = sink->available(); capacity != 0; --capacity)
            sink->on(quote_of(0, feed::price_from<10'000>(10'000)), ++accepted);
        sink->step(now);
    }
    EXPECT_EQ(sink->available(), 0U);
    EXPECT_LT(accepted, 10'000U);
    EXPECT_EQ(sink->held(), accepted);
}

TEST_F(CsvSinkTest, ADiskThatFillsUpAndIsFreedLosesNoRowAndTearsNone) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
    const auto disk = folder_ / "disk";
    std::filesystem::create_directories(disk);
    if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "may not mount a tmpfs";
    const auto file = disk / "quotes.csv";
    const auto ballast = disk / "ballast";
    std::ofstream{ballast} << std::string(40'000, 'x');
    std::uint64_t count = 0;
    {
        auto sink = open([&](Settings& s) { s.path = file; });
        std::int64_t now = kSecondNs;
        while (sink->counters().write_errors.read() == 0 && count < 10'000) {
            for (int i = 0; i < 50; ++i, ++count) {
                sink->on(level_of(7, feed::kLast), 2 * count + 1);
                sink->on(quote_of(0, feed::price_from<10'000>(10'000)), 2 * count + 2);
            }
            sink->step(now += kSecondNs);
        }
        EXPECT_GT(sink->counters().write_errors.read(), 0U);
        EXPECT_GT(sink->held(), 0U);
        EXPECT_EQ(text_of(file).back(), '\n');  // the full disk has no partial row
        EXPECT_EQ(text_of(disk / "quotes.levels.csv").back(), '\n');
        std::filesystem::remove(ballast);
        sink->step(now += kSecondNs);
        EXPECT_EQ(sink->held(), 0U);
        EXPECT_EQ(sink->counters().rows.read(), 2 * count);
    }
    const auto text = text_of(file);
    const auto levels = text_of(disk / "quotes.levels.csv");
    umount(disk.c_str());
    std::string expected{feed::kCsvHeader};
    for (std::uint64_t i = 0; i < count; ++i) {
        expected += "1700000000000000000,AAPL,1.0000,100,1.0100,100,0.0100,0,\n";
    }
    EXPECT_EQ(text, expected);
    std::string expected_levels{kLevelsHeader};
    for (std::uint64_t i = 0; i < count; ++i) expected_levels += level_row(7, "last");
    EXPECT_EQ(levels, expected_levels);
}

TEST_F(CsvSinkTest, ASlowSinksAccountClosesWithDepthAndEveryFileNamesItsLoss) {
    TestRing ring{"csv-depth", 64};
    auto settings = test::settings_with<Settings>([&](Settings& s) { s.path = path(); });
    auto made = std::make_unique<CsvSink>(settings, core::kFileMode, service::LogFunction{});
    const auto& sink = *made;
    SinkThread thread{{.ring = ring.name, .name = "csv"}, std::move(made), {}};
    std::uint64_t published = 0;
    const auto publish_group = [&] {
        ring.writer.publish(order_of(1));
        ring.writer.publish(level_of(2));
        auto quote = quote_of(0, feed::kPriceScale);
        quote.flags = feed::kLast;
        ring.writer.publish(quote);
        published += 3;
    };
    std::int64_t now = kSecondNs;
    const auto round = [&] {
        thread.round(now += kSecondNs);
        const auto account = thread.account();
        EXPECT_TRUE(account.closes());
        EXPECT_EQ(account.published, published);
    };
    publish_group();
    round();
    EXPECT_EQ(thread.account().delivered, 3U);
    for (int i = 0; i < 100; ++i) publish_group();
    round();
    round();
    const auto account = thread.account();
    EXPECT_GT(account.missed, 0U);
    EXPECT_EQ(account.filtered, 0U);
    EXPECT_EQ(account.queued, 0U);
    EXPECT_EQ(account.delivered, sink.counters().rows.read());
    for (const auto& file : {path(), orders(), levels()}) EXPECT_THAT(text_of(file), HasSubstr(",missed\n")) << file;
}

TEST_F(CsvSinkTest, AFileThatAnotherSinkWritesIsRefusedAndLeftAsItIs) {
    auto sink = open();
    sink->on(quote_of(0, feed::price_from<10'000>(10'000)), 1);
    sink->step(kSecondNs);
    const auto before = text_of(path());
    try {
        open();
        FAIL() << "two sinks write one file";
    } catch (const std::system_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("another process or sink writes it"));
    }
    EXPECT_EQ(text_of(path()), before);
    EXPECT_FALSE(std::filesystem::exists(path() + ".1"));
    sink.reset();
    open();  // the file's lock is released too
    EXPECT_TRUE(std::filesystem::exists(path() + ".1"));
}

TEST_F(CsvSinkTest, ASymbolicLinkIsNotFollowed) {
    const auto victim = folder_ / "victim";
    for (const bool exists : {false, true}) {
        if (exists) std::ofstream{victim} << "precious";
        std::filesystem::create_symlink(victim, path());
        try {
            open();
            FAIL() << "followed";
        } catch (const std::system_error& error) {
            EXPECT_THAT(error.what(), HasSubstr("it is a symbolic link"));
        }
        EXPECT_EQ(std::filesystem::exists(victim), exists);
        std::filesystem::remove(path());
    }
    EXPECT_EQ(text_of(victim), "precious");
}

TEST_F(CsvSinkTest, ItsFilesHaveTheModeThatIsAskedForWhateverTheUmask) {
    for (const mode_t mask : {0000U, 0077U}) {
        const auto before = umask(mask);
        for (const mode_t mode : {0640U, 0664U, 0600U}) {
            auto sink = open({}, mode);
            struct stat facts{};
            ASSERT_EQ(stat(path().c_str(), &facts), 0);
            EXPECT_EQ(facts.st_mode & 07777U, mode);
            sink.reset();
            std::filesystem::remove(path());
        }
        umask(before);
    }
}

TEST_F(CsvSinkTest, AFileThatCannotBeOpenedIsRefusedByName) {
    try {
        open([&](Settings& s) { s.path = "/nonexistent/quotes.csv"; });
        FAIL() << "no error";
    } catch (const std::system_error& error) {
        EXPECT_STREQ(error.what(), "csv sink 'csv': cannot open '/nonexistent/quotes.csv': No such file or directory");
    }
}

}  // namespace
}  // namespace millpond::gateway::csv
