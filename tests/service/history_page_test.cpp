#include "service/http/history_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/json.hpp"
#include "tests/support/whole_body.hpp"

namespace millpond::http {
namespace {

using millpond::test::whole_body;
using service::Combine;
using service::EventKind;
using service::History;
using service::Severity;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kNow = 20'000 * 86'400 + 40'000;
constexpr service::SeriesKind kSeries[] = {{"rate", Combine::mean}};
constexpr service::SourceKind kFeed{"feed", "", kSeries};
constexpr service::SourceKind kLine{"line", "feed", kSeries};

class HistoryPageTest : public testing::Test {
protected:
    HistoryPageTest() {
        const auto feed = *history_.add(kFeed, "a");
        const auto line = *history_.add(kLine, "b", "a");
        static_cast<void>(history_.add(kFeed, "c"));
        for (std::int64_t second = kNow - 4'000; second < kNow; ++second) {
            auto sample = history_.sample(second);
            sample.set(feed, {static_cast<double>(second % 10)});
            sample.set(line, {0.25});
        }
    }
    [[nodiscard]] std::string body(std::string_view path, const std::string& query) const {
        return whole_body(HistoryPage{history_, events_}.page({.path = path, .query = query}, kNow * kSecondNs + 5));
    }
    [[nodiscard]] Json::Value history(const std::string& query) const {
        return service::parse_json(body("/api/history", query));
    }
    [[nodiscard]] std::vector<std::uint64_t> numbers(const std::string& query) const {
        std::vector<std::uint64_t> numbers;
        const auto page = service::parse_json(body("/api/events", query));
        for (const auto& event : page["events"]) {
            numbers.push_back(event["number"].asUInt64());
        }
        return numbers;
    }
    static std::string time(std::int64_t second) { return std::to_string(second * kSecondNs); }

    History history_{std::array<History::Capacity, 2>{{{&kFeed, 2}, {&kLine, 1}}}};
    service::EventLog events_;
};

TEST_F(HistoryPageTest, WithoutParametersItHasTheLastFifteenMinutesInSeconds) {
    const auto page = history("");
    EXPECT_EQ(page["now"].asInt64(), kNow * kSecondNs + 5);
    EXPECT_EQ(page["step"].asInt(), 1);
    EXPECT_EQ(page["samples"].asInt(), 900);
    EXPECT_EQ(page["from"].asInt64(), (kNow - 900) * kSecondNs);
    ASSERT_EQ(page["sources"].size(), 3U);
    const auto& feed = page["sources"][0];
    EXPECT_EQ(feed["kind"].asString(), "feed");
    EXPECT_EQ(feed["name"].asString(), "a");
    EXPECT_TRUE(feed["of"].isNull());
    ASSERT_EQ(feed["series"]["rate"].size(), 900U);
    EXPECT_EQ(feed["series"]["rate"][899].asDouble(), (kNow - 1) % 10);
    EXPECT_EQ(page["sources"][1]["kind"].asString(), "line");
    EXPECT_EQ(page["sources"][1]["of"].asString(), "a");
    EXPECT_TRUE(page["sources"][2]["series"]["rate"][0].isNull()) << "a feed without samples";
}

TEST_F(HistoryPageTest, ARangeHasItsSamplesAndNullsWhereThereAreNone) {
    const auto page = history("from=" + time(kNow - 3) + "&to=" + time(kNow + 100));
    EXPECT_EQ(page["samples"].asInt(), 3) << "the second in progress and the future have no sample";
    EXPECT_EQ(history("from=" + time(kNow - 30) + "&to=" + time(kNow - 10) + "&step=10")["samples"].asInt(), 2);
    const auto old = history("from=" + time(kNow - 3'700) + "&to=" + time(kNow - 3'500) + "&step=1")["sources"][0];
    EXPECT_TRUE(old["series"]["rate"][50].isNull()) << "seconds are kept for an hour";
    EXPECT_FALSE(old["series"]["rate"][150].isNull());
    EXPECT_EQ(history("from=" + time(kNow + 50))["samples"].asInt(), 0);
    EXPECT_EQ(history("to=" + time(kNow - 2'000))["samples"].asInt(), 900);
}

TEST_F(HistoryPageTest, TheUsualStepGivesAtMostAThousandSamplesAndReachesBack) {
    const auto of_span = [&](std::int64_t span) { return history("from=" + time(kNow - span)); };
    EXPECT_EQ(of_span(1'000)["step"].asInt(), 1);
    EXPECT_EQ(of_span(3'600)["step"].asInt(), 5);
    EXPECT_EQ(of_span(3'700)["step"].asInt(), 60);
    const auto day = history("from=0");
    EXPECT_EQ(day["step"].asInt(), 120);
    EXPECT_EQ(day["samples"].asInt(), 721);
    EXPECT_FALSE(day["sources"][0]["series"]["rate"][720].isNull());
}

TEST_F(HistoryPageTest, OneSourceMayBeAskedForWithItsLines) {
    const auto page = history("source=feed%20'a'");
    ASSERT_EQ(page["sources"].size(), 2U);
    EXPECT_EQ(page["sources"][1]["kind"].asString(), "line");
    EXPECT_EQ(body("/api/history", "source=feed+'a'"), body("/api/history", "source=feed%20'a'"));
    const auto unknown =
        HistoryPage{history_, events_}.page({.path = "/api/history", .query = "source=feed%20'x'"}, kNow * kSecondNs);
    EXPECT_EQ(unknown.status, 404U);
    EXPECT_EQ(unknown.body, "there is no feed 'x'\n");
}

TEST_F(HistoryPageTest, SmallRatesAreNotZeroAndLargeOnesHaveOneDecimal) {
    History history{std::array<History::Capacity, 1>{{{&kFeed, 1}}}};
    const auto feed = *history.add(kFeed, "a");
    std::int64_t second = kNow - 4;
    for (const double value : {0.0123, 12.34567, 123'456.75, 2e6}) history.sample(second++).set(feed, {value});
    EXPECT_THAT(whole_body(HistoryPage(history, events_)
                               .page({.path = "/api/history", .query = "from=" + time(kNow - 4)}, kNow * kSecondNs)),
                HasSubstr(R"("rate":[0.0123,12.35,123456.8,2000000])"));
}

TEST_F(HistoryPageTest, AnAnswerHasAtMostThreeHundredThousandValues) {
    constexpr std::size_t kFeeds = 401;
    History history{std::array<History::Capacity, 1>{{{&kFeed, kFeeds}}}};
    for (std::size_t i = 0; i < kFeeds; ++i) ASSERT_TRUE(history.add(kFeed, std::to_string(i)));
    static_cast<void>(history.sample(kNow - 1));
    const auto answer = [&](std::int64_t samples, const std::string& more) {
        return HistoryPage{history, events_}.page(
            {.path = "/api/history", .query = "step=1&from=" + time(kNow - samples) + more}, kNow * kSecondNs);
    };
    std::size_t largest = 0;
    EXPECT_EQ(service::parse_json(whole_body(answer(748, ""), &largest))["sources"].size(), kFeeds);
    EXPECT_LT(largest, 20'000) << "a part is of about 2,000 values";
    try {
        static_cast<void>(answer(749, ""));
        FAIL() << "is not refused";
    } catch (const BadRequest& error) {
        EXPECT_STREQ(error.what(), "749 samples of 401 series: give a source, a longer step or a shorter range");
    }
    const auto usual =
        service::parse_json(whole_body(HistoryPage{history, events_}.page({.path = "/api/history"}, kNow * kSecondNs)));
    EXPECT_EQ(usual["step"].asInt(), 2) << "instead of 1";
    EXPECT_EQ(service::parse_json(whole_body(answer(3'600, "&source=feed%20'7'")))["samples"].asInt(), 3'600);
}

TEST_F(HistoryPageTest, WrongParametersAreRefusedByName) {
    for (const std::string_view query : {"step=0", "step=x", "step=90", "step=86401", "from=-1", "to=1e9",
                                         "from=99999999999999999999", "from=5&to=4"}) {
        EXPECT_THROW(static_cast<void>(body("/api/history", std::string{query})), BadRequest) << query;
    }
    EXPECT_THROW(static_cast<void>(body("/api/history", "step=1&from=" + time(kNow - 3'601))), BadRequest);
    EXPECT_THROW(static_cast<void>(body("/api/history", "step=1&from=" + time(kNow - 80'000))), BadRequest);
    for (const std::string_view query : {"kind=x", "kind=gap,x", "limit=0", "limit=10001", "after=-1", "from=x"}) {
        EXPECT_THROW(static_cast<void>(body("/api/events", std::string{query})), BadRequest) << query;
        EXPECT_THROW(static_cast<void>(body("/api/events.csv", std::string{query})), BadRequest) << query;
    }
    EXPECT_EQ(HistoryPage(history_, events_).page({.path = "/api/event"}, 0).type, "");
}

TEST_F(HistoryPageTest, EventsAreFilteredAndHaveNullForWhatIsUnknown) {
    EXPECT_TRUE(service::parse_json(body("/api/events", ""))["newest"].isNull());
    const auto add = [&](service::Event event, std::int64_t second) {
        events_.add(event, {.utc_ns = second * kSecondNs, .monotonic_ns = second * kSecondNs});
    };
    add({.kind = EventKind::start, .source = "gateway", .text = "started"}, 10);
    add({.kind = EventKind::gap, .source = "feed 'a'", .text = "\"x\"", .range = std::pair{5, 6}}, 20);
    add({.kind = EventKind::finding,
         .severity = Severity::error,
         .source = "feed 'a'",
         .text = "t",
         .stage = "gap",
         .ended = true,
         .since = 21 * kSecondNs},
        30);
    EXPECT_EQ(body("/api/events", "kind=gap"),
              R"({"now":1728040000000000005,"log":)" + std::to_string(events_.id()) +
                  R"(,"oldest":1,"newest":3,"events":[{"number":2,"time":20000000000,"kind":"gap",)"
                  R"("severity":"info","source":"feed 'a'","stage":null,"ended":false,"since":null,"first":5,"last":6,)"
                  R"("count":1,"text":"\"x\""}]})"
                  "\n");
    EXPECT_THAT(body("/api/events", "kind=finding"),
                HasSubstr(R"("severity":"error","source":"feed 'a'","stage":"gap","ended":true,"since":21000000000,)"
                          R"("first":null,"last":null)"));
    EXPECT_EQ(numbers("kind=start,finding"), (std::vector<std::uint64_t>{1, 3}));
    EXPECT_EQ(numbers("source=feed%20'a'&kind="), (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(numbers("source=feed+'a'"), (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(numbers("from=" + time(20) + "&to=" + time(30)), (std::vector<std::uint64_t>{2}));
    EXPECT_EQ(numbers("limit=1"), (std::vector<std::uint64_t>{3}));
    EXPECT_EQ(numbers("after=0&limit=2"), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(HistoryPageTest, ManyEventsAreMadeInParts) {
    constexpr std::uint64_t kEvents = 1'001;
    for (std::uint64_t i = 0; i < kEvents; ++i)
        events_.add({.kind = EventKind::reload, .source = std::to_string(i), .text = "t"},
                    {.utc_ns = 1, .monotonic_ns = 1});
    std::size_t largest = 0;
    const auto text = whole_body(
        HistoryPage{history_, events_}.page({.path = "/api/events", .query = "limit=10000"}, kNow), &largest);
    EXPECT_EQ(service::parse_json(text)["events"].size(), kEvents);
    EXPECT_LT(largest, text.size() / 4);
    EXPECT_EQ(numbers("after=0&limit=200").size(), 200) << "of one part";
}

TEST_F(HistoryPageTest, ACellOfTheTableIsNoFormula) {
    for (const std::string_view text : {"=1+1", "+1", "-1", "@x", "\tx", "\rx", "a \"quoted\", text\nof two lines"}) {
        events_.add({.kind = EventKind::finding, .source = text, .text = text, .stage = text, .since = 1},
                    {.utc_ns = 1'580'398'200'000'000'001, .monotonic_ns = 1});
    }
    const auto page = body("/api/events.csv", "");
    EXPECT_THAT(page, testing::StartsWith("number,time,kind,severity,source,stage,ended,since,first,last,count,text\r\n"
                                          "1,2020-01-30T15:30:00.000000001Z,finding,info,\"'=1+1\",\"'=1+1\",false,"
                                          "1970-01-01T00:00:00.000000001Z,,,1,\"'=1+1\"\r\n"));
    for (const std::string_view cell : {"\"'+1\"", "\"'-1\"", "\"'@x\"", "\"'\tx\"", "\"'\rx\""}) {
        EXPECT_THAT(page, HasSubstr(std::string{cell}));
    }
    EXPECT_THAT(page, EndsWith("1,\"a \"\"quoted\"\", text\nof two lines\"\r\n"));
}

}  // namespace
}  // namespace millpond::http
