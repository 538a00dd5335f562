// `millpond book`: books of ITCH files, captures and journals.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/files/itch_file_reader.hpp>
#include <millpond/journal/journal_writer.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using test::scratch_name;
using test::ScratchFile;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kTen = 10 * 3'600 * kSecond;  // 10:00 in New York
constexpr std::int64_t kMidnight =
    1'580'360'400 * kSecond;  // of 2020-01-30 in New York, `TZ=America/New_York date +%s`
constexpr int kDamaged = 3;
constexpr int kIncomplete = 4;

/// Messages of a file, each after its length.
class Messages {
public:
    Messages& at(std::int64_t seconds) {
        encoder_.set_head(locate_, kTen + seconds * kSecond);
        return *this;
    }
    Messages& of(std::uint16_t locate) {
        locate_ = locate;
        return *this;
    }
    Messages& add(std::uint64_t order, char side, std::uint32_t shares, std::uint32_t price,
                  std::string_view stock = "AAPL") {
        return put(encoder_.order_added(order, side, shares, stock, price));
    }
    Messages& replace(std::uint64_t order, std::uint64_t other, std::uint32_t shares, std::uint32_t price) {
        return put(encoder_.order_replaced(order, other, shares, price));
    }
    Messages& remove(std::uint64_t order) { return put(encoder_.order_deleted(order)); }
    Messages& execute(std::uint64_t order, std::uint32_t shares) {
        return put(encoder_.order_executed(order, shares, 1));
    }
    Messages& event(char code) { return put(encoder_.system_event(code)); }
    Messages& directory(std::string_view stock) { return put(encoder_.directory(stock)); }
    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

private:
    Messages& put(std::span<const std::byte> message) {
        bytes_ += {static_cast<char>(message.size() >> 8U), static_cast<char>(message.size())};
        bytes_.append(reinterpret_cast<const char*>(message.data()), message.size());
        return *this;
    }
    feed::ItchEncoder encoder_;
    std::uint16_t locate_{1};
    std::string bytes_;
};

/// Two bids at one price, of which the first is executed in part at second 2, and moved at second 4; one ask.
std::string day() {
    Messages day;
    day.at(0).event('O').directory("AAPL");
    day.of(2).at(0).directory("MSFT");
    day.of(1).at(1).add(11, 'B', 300, 1'890'000).add(12, 'B', 100, 1'890'000).add(21, 'S', 200, 1'890'500);
    day.at(2).execute(11, 50);
    day.at(4).replace(11, 13, 400, 1'890'000);
    day.at(6).event('C');
    return day.bytes();
}

std::string part_of(const std::string& json, std::string_view from) {
    const auto at = json.find(from);
    return at == std::string::npos ? json : json.substr(at);
}

TEST(Book, ShowsLevelsWithSizesAndNumbersOfOrders) {
    const ScratchFile file{scratch_name("book.itch"), day()};
    const auto outcome = run({"book", file.path(), "--symbol", "AAPL", "--at", "10:00:03"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "AAPL at 10:00:03.000000000: complete\n"
              "  orders   bid size          bid          ask   ask size  orders\n"
              "       2        350     189.0000     189.0500        200       1\n");
}

TEST(Book, EventsOfTheTimeItselfAreIncludedAndLaterOnesAreNot) {
    const ScratchFile file{scratch_name("book.itch"), day()};
    const auto bids_at = [&](const std::string& time) {
        return part_of(run({"book", file.path(), "--symbol", "AAPL", "--orders", "--json", "--at", time}).out,
                       "\"bids\"");
    };
    const std::string asks =
        R"("asks":[{"price":189.0500,"size":200,"count":1,"orders":[{"order_id":21,"size":200}]}],"incomplete":false})"
        "\n";
    EXPECT_EQ(
        bids_at("10:00:01.999999999"),
        R"("bids":[{"price":189.0000,"size":400,"count":2,"orders":[{"order_id":11,"size":300},{"order_id":12,"size":100}]}],)" +
            asks);
    EXPECT_EQ(
        bids_at("10:00:02"),
        R"("bids":[{"price":189.0000,"size":350,"count":2,"orders":[{"order_id":11,"size":250},{"order_id":12,"size":100}]}],)" +
            asks);
    // A replaced order loses its priority. 15:00 UTC is 10:00 in New York in January.
    const auto replaced =
        R"("bids":[{"price":189.0000,"size":500,"count":2,"orders":[{"order_id":12,"size":100},{"order_id":13,"size":400}]}],)" +
        asks;
    EXPECT_EQ(bids_at("10:00:04"), replaced);
    EXPECT_EQ(bids_at("2020-01-30T15:00:04Z"), replaced);
    EXPECT_EQ(bids_at("23:00"), replaced);  // after the end of messages
}

TEST(Book, ABookOfWhichAMessageIsMissingSaysSoAndWhy) {
    Messages day;
    day.at(1).add(11, 'B', 300, 1'890'000).remove(12).add(21, 'S', 200, 1'890'500);
    const ScratchFile file{scratch_name("book.itch"), day.bytes()};
    const auto outcome = run({"book", file.path(), "--symbol", "AAPL"});
    EXPECT_EQ(outcome.exit_code, kIncomplete);
    EXPECT_THAT(outcome.out, AllOf(StartsWith("AAPL at 10:00:01.000000000: incomplete, "),
                                   HasSubstr("the first is message 2 changes an order that is not in the book"),
                                   HasSubstr("300     189.0000     189.0500        200")));
    EXPECT_THAT(outcome.err, StartsWith("millpond: book: incomplete: "));
    const auto json = run({"book", file.path(), "--symbol", "AAPL", "--json"});
    EXPECT_EQ(json.exit_code, kIncomplete);
    EXPECT_THAT(json.out, HasSubstr(R"("incomplete":true,"fault":")"));
    // Another instrument's book is complete.
    day.of(2).at(2).add(31, 'B', 1, 1'000'000, "MSFT");
    const ScratchFile two{scratch_name("two.itch"), day.bytes()};
    EXPECT_EQ(run({"book", two.path(), "--symbol", "MSFT"}).exit_code, 0);
}

TEST(Book, AFileThatEndsBeforeTheTimeOrIsDamagedSaysSo) {
    Messages messages;
    messages.at(1).add(11, 'B', 300, 1'890'000);
    const ScratchFile file{scratch_name("short.itch"), messages.bytes()};
    auto outcome = run({"book", file.path(), "--symbol", "AAPL", "--at", "10:15"});
    EXPECT_EQ(outcome.exit_code, kIncomplete);
    EXPECT_THAT(outcome.out, StartsWith("AAPL at 10:00:01.000000000: complete\n"));
    EXPECT_THAT(outcome.err, EndsWith("ends at 10:00:01.000000000, before 10:15:00.000000000\n"));
    const ScratchFile cut{scratch_name("cut.itch"), messages.bytes() + messages.bytes().substr(0, 20)};
    outcome = run({"book", cut.path(), "--symbol", "AAPL"});
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
}

TEST(Book, AnUnknownSymbolNamesANearOne) {
    const ScratchFile file{scratch_name("book.itch"), day()};
    const auto outcome = run({"book", file.path(), "--symbol", "APPL"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: no instrument 'APPL' in '" + file.path() +
                               "' up to 10:00:06.000000000; did you mean 'AAPL'?\n");
    // An instrument of the directory without orders has an empty book.
    const auto empty = run({"book", file.path(), "--symbol", "MSFT", "--json", "--at", "10:00:03"});
    EXPECT_EQ(empty.exit_code, 0) << empty.err;
    EXPECT_THAT(empty.out, HasSubstr(R"("bids":[],"asks":[],"incomplete":false})"));
}

TEST(Book, WrongOptionsAreUsageErrors) {
    const ScratchFile file{scratch_name("book.itch"), day()};
    const auto refused = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"book", file.path(), "--symbol", "AAPL"});
        const auto outcome = run(more);
        EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
        return outcome.err;
    };
    EXPECT_THAT(refused({"--at", "noon"}), HasSubstr("--at: 'noon' is not a time like 10:15:00 (New York)"));
    EXPECT_THAT(refused({"--every", "1s"}), HasSubstr("--every INTERVAL and --out FILE need each other"));
    EXPECT_THAT(refused({"--every", "1 s", "--out", "/dev/null"}),
                HasSubstr("'1 s' is not an interval from 1ms to 24h"));
    EXPECT_THAT(refused({"--every", "1s", "--out", "/dev/null", "--orders"}), HasSubstr("add --json"));
    EXPECT_THAT(refused({"--every", "1s", "--out", file.path()}), HasSubstr(file.path()));
    EXPECT_THAT(refused({"--only", "127.0.0.1:1"}), HasSubstr("is not a capture"));
    EXPECT_THAT(refused({"--depth", "0"}), HasSubstr("--depth"));
}

TEST(Book, EveryIntervalHasARowWithTheBookOfItsTime) {
    const ScratchFile file{scratch_name("book.itch"), day()};
    const ScratchFile out{scratch_name("rows.csv"), ""};
    const auto outcome =
        run({"book", file.path(), "--symbol", "AAPL", "--depth", "1", "--every", "2s", "--out", out.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, StartsWith("3 books of 'AAPL' written to "));
    std::ifstream read{out.path()};
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>{read}, {}}),
              "time,symbol,incomplete,bid_px_00,ask_px_00,bid_sz_00,ask_sz_00,bid_ct_00,ask_ct_00\n"
              "10:00:02.000000000,AAPL,false,189.0000,189.0500,350,200,2,1\n"
              "10:00:04.000000000,AAPL,false,189.0000,189.0500,500,200,2,1\n"
              "10:00:06.000000000,AAPL,false,189.0000,189.0500,500,200,2,1\n");
    const ScratchFile lines{scratch_name("rows.json"), ""};
    EXPECT_EQ(run({"book", file.path(), "--symbol", "AAPL", "--every", "500ms", "--at", "10:00:02.5", "--json",
                   "--orders", "--out", lines.path()})
                  .exit_code,
              0);
    std::ifstream again{lines.path()};
    std::string line;
    std::size_t count = 0;
    while (std::getline(again, line)) {
        EXPECT_THAT(line, AllOf(StartsWith(R"({"type":"book","symbol":"AAPL","time":"10:00:0)"),
                                EndsWith(R"("incomplete":false})")));
        ++count;
    }
    EXPECT_EQ(count, 4U);  // 1, 1.5, 2 and 2.5 seconds
}

TEST(Book, ACaptureHasTheBooksOfItsMessages) {
    const ScratchFile capture{scratch_name("day.pcap"), ""};
    const ScratchFile file{scratch_name("day.itch"), ""};
    for (const auto& path : {capture.path(), file.path()})
        ASSERT_EQ(run({"generate", "--out", path, "--format", "itch", "--symbols", "5", "--count", "3000"}).exit_code,
                  0);
    files::ItchFileReader reader{file.path()};
    std::string stock;
    for (std::span<const std::byte> message; stock.empty() && reader.next(message);) {
        if (static_cast<char>(message[0]) == 'A')
            stock.assign(reinterpret_cast<const char*>(message.data()) + feed::itch_layout::order_added::kStockAt, 8);
    }
    stock.resize(stock.find_last_not_of(' ') + 1);
    const auto book_of = [&](const std::string& path) {
        const auto outcome = run({"book", path, "--symbol", stock, "--orders", "--json"});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return part_of(outcome.out, "\"bids\"");
    };
    EXPECT_EQ(book_of(capture.path()), book_of(file.path()));
    EXPECT_THAT(book_of(file.path()), HasSubstr("\"order_id\""));
    EXPECT_EQ(run({"book", capture.path(), "--symbol", stock, "--only", "127.0.0.1:9"}).exit_code, 1);
    const ScratchFile rows{scratch_name("rows.csv"), ""};
    const auto sampled = run({"book", capture.path(), "--symbol", stock, "--every", "1ms", "--out", rows.path()});
    EXPECT_EQ(sampled.exit_code, 0) << sampled.err;
    EXPECT_THAT(sampled.out, HasSubstr(", 0 of them incomplete"));
}

/// Appends the events of a decoder to a journal.
struct Appender {
    void on(const auto& event) {
        for (; named < instruments.size(); ++named)
            writer.name(named, {instruments.venue(named), instruments.symbol(named)});
        while (!writer.append(event, ring)) ASSERT_TRUE(writer.service(kMidnight));
        ++ring;
    }
    journal::JournalWriter& writer;
    feed::InstrumentTable& instruments;
    feed::InstrumentId named{0};
    std::uint64_t ring{1};
};

/// A journal of the events of messages, with an epoch for each call.
class BookOfJournal : public ::testing::Test {
protected:
    BookOfJournal() { std::filesystem::remove_all(folder_); }
    ~BookOfJournal() override { std::filesystem::remove_all(folder_); }

    /// seconds: time of receipt after that of the messages. lost: ring entries that are lost at the end.
    void write(const std::string& messages, std::uint64_t epoch = 1, std::int64_t seconds = 0, std::uint64_t lost = 0) {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = 1U << 20U, .sync = journal::Sync::none},
            kMidnight + kTen};
        writer.set_epoch(epoch);
        feed::InstrumentTable instruments{8};
        feed::ItchDecoder decoder{instruments,
                                  {.order_books = {.books = 8, .orders = 64, .level_chunks = 64}, .orders = true}};
        decoder.set_midnight(kMidnight);
        Appender appender{writer, instruments};
        files::ItchFileReader reader{std::as_bytes(std::span{messages}), "messages"};
        std::uint64_t sequence = 1;
        decoder.books().mark_complete();
        for (std::span<const std::byte> message; reader.next(message); ++sequence) {
            const auto time = kMidnight + feed::itch_layout::load_time(message.data()) + seconds * kSecond;
            decoder.books().apply(message, sequence, {.receive_utc_ns = time, .receive_ticks = 0, .channel = 0},
                                  appender);
        }
        if (lost == 0) return;
        ASSERT_TRUE(writer.append_lost(
            {.first = appender.ring, .last = appender.ring + lost - 1, .utc_ns = kMidnight + kTen + 9 * kSecond}));
    }
    /// Appends events that a gateway may have published, for channels with `depth` levels.
    template <class... Events>
    void write_events(market::ChannelDepth depth, const Events&... events) {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = 1U << 20U, .sync = journal::Sync::none},
            kMidnight + kTen};
        auto ring = writer.resume_at(1);
        writer.set_epoch(1);
        writer.name(0, {feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}});
        writer.set_depth(0, depth);
        const auto append = [&](const auto& event) {
            if (!writer.append(event, ring)) {
                ASSERT_TRUE(writer.service(kMidnight));
                ASSERT_TRUE(writer.append(event, ring));
            }
            ++ring;
        };
        (append(events), ...);
    }
    static constexpr std::int64_t time_of(std::int64_t second) { return kMidnight + kTen + second * kSecond; }
    static feed::Level level(std::int64_t second, feed::Side side, feed::Price dollars, std::uint64_t size,
                             std::uint16_t flags = feed::kLast) {
        return {.instrument = 0,
                .flags = flags,
                .side = side,
                .orders = 1,
                .price = dollars * feed::kPriceScale,
                .size = size,
                .receive_utc_ns = time_of(second)};
    }
    static feed::Clear clear(std::int64_t second, std::uint16_t flags = 0,
                             feed::ClearReason reason = feed::ClearReason::new_session) {
        return {.flags = flags, .reason = reason, .receive_utc_ns = time_of(second)};
    }
    [[nodiscard]] Outcome book(std::vector<std::string> more) const {
        more.insert(more.begin(), {"book", folder_, "--symbol", "AAPL"});
        return run(more);
    }

    std::string folder_{::testing::TempDir() + scratch_name("book_journal")};
};

TEST_F(BookOfJournal, EqualsTheBookOfTheFileAtTheTimeOfReceipt) {
    write(day());
    const ScratchFile file{scratch_name("book.itch"), day()};
    for (const std::string time : {"10:00:01", "10:00:03", "10:00:04"}) {
        const auto outcome = book({"--orders", "--json", "--at", time});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_THAT(outcome.out, HasSubstr(R"("time":"2020-01-30T15)" + time.substr(2) + ".000000000Z\""));
        EXPECT_EQ(part_of(outcome.out, "\"bids\""),
                  part_of(run({"book", file.path(), "--symbol", "AAPL", "--orders", "--json", "--at", time}).out,
                          "\"bids\""));
    }
}

TEST_F(BookOfJournal, IsIncompleteAfterALossAndUntilANewEpochHasASnapshot) {
    write(day(), 1, 0, 5);
    EXPECT_EQ(book({"--at", "10:00:05"}).exit_code, 0);
    auto outcome = book({});
    EXPECT_EQ(outcome.exit_code, kIncomplete);
    EXPECT_THAT(outcome.out, HasSubstr("incomplete, 1 ranges of lost events"));
    // In the next epoch the stocks have other numbers.
    Messages later;
    later.of(5).at(20).add(51, 'B', 1, 1'000'000, "MSFT").of(6).at(21).add(61, 'S', 700, 2'000'000);
    write(later.bytes(), 2);
    outcome = book({"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out,
                HasSubstr(R"("bids":[],"asks":[{"price":200.0000,"size":700,"count":1}],"incomplete":false})"));
    EXPECT_EQ(book({"--at", "10:00:20.5"}).exit_code, kIncomplete);
}

TEST_F(BookOfJournal, AfterARestartTheClearOfAnotherChannelDoesNotMakeItComplete) {
    write(day());
    {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = 1U << 20U, .sync = journal::Sync::none},
            kMidnight + kTen};
        writer.set_epoch(2);
        feed::InstrumentTable instruments{8};
        const auto id = instruments.find_or_add(feed::Venue{"XNAS"}, feed::Symbol{"AAPL"});
        Appender appender{writer, instruments};
        const auto time = [](std::int64_t second) { return kMidnight + kTen + second * kSecond; };
        appender.on(feed::Clear{.channel = 0, .flags = feed::kIncomplete, .receive_utc_ns = time(20)});
        appender.on(feed::Clear{.channel = 1, .receive_utc_ns = time(21)});
        appender.on(feed::Order{.instrument = id,
                                .channel = 0,
                                .flags = feed::kLast,
                                .side = feed::Side::bid,
                                .order_id = 7,
                                .price = 100 * feed::kPriceScale,
                                .size = 5,
                                .size_left = 5,
                                .receive_utc_ns = time(22)});
        appender.on(feed::Clear{.channel = 0, .receive_utc_ns = time(24)});
    }
    EXPECT_EQ(book({"--at", "10:00:05"}).exit_code, 0);
    EXPECT_EQ(book({"--at", "10:00:21"}).exit_code, kIncomplete);
    const auto outcome = book({"--json", "--at", "10:00:22"});
    EXPECT_EQ(outcome.exit_code, kIncomplete);
    EXPECT_THAT(outcome.out,
                HasSubstr(R"("bids":[{"price":100.0000,"size":5,"count":1}],"asks":[],"incomplete":true)"));
    EXPECT_EQ(book({"--at", "10:00:24"}).exit_code, 0);
}

TEST_F(BookOfJournal, ATimeWithoutADateNeedsAJournalOfOneDay) {
    write(day());
    write(day(), 2, 86'400);
    const auto outcome = book({"--at", "10:00:03"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("is a time of several days"));
    EXPECT_EQ(book({"--at", "2020-01-31T15:00:03"}).exit_code, 0);
}

TEST_F(BookOfJournal, IsMadeOfLevelsWhereTheFeedSendsNoOrders) {
    using enum feed::Side;
    // A third bid drops the worst, of which no event says so.
    write_events({.depth = 2}, clear(0), level(1, bid, 100, 5), level(2, bid, 99, 7), level(2, ask, 102, 9),
                 level(3, bid, 101, 3));
    auto outcome = book({});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "AAPL at 2020-01-30T15:00:03.000000000Z: complete\n"
              "  orders   bid size          bid          ask   ask size  orders\n"
              "       1          3     101.0000     102.0000          9       1\n"
              "       1          5     100.0000 \n");
    outcome = book({"--json", "--at", "10:00:02"});
    EXPECT_THAT(
        outcome.out,
        HasSubstr(
            R"("bids":[{"price":100.0000,"size":5,"count":1},{"price":99.0000,"size":7,"count":1}],"asks":[{"price":102.0000)"));
    outcome = book({"--orders"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("has only levels of 'AAPL'"));
    outcome = book({"--depth", "3"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("has 2 levels of 'AAPL' a side"));
    // A gap, and a snapshot after it.
    write_events({.depth = 2}, feed::Gap{.first = 1, .last = 2, .receive_utc_ns = time_of(4)}, level(5, bid, 98, 1));
    outcome = book({});
    EXPECT_EQ(outcome.exit_code, kIncomplete);
    EXPECT_THAT(outcome.out, HasSubstr("incomplete, 1 gaps of the channel"));
    write_events({.depth = 2}, level(6, none, 0, 0, feed::kSnapshot), level(6, ask, 103, 2));
    outcome = book({"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(R"("bids":[],"asks":[{"price":103.0000,"size":2,"count":1}])"));
    // The next run of the feed sends more levels.
    write_events({.depth = 5}, clear(7), level(8, ask, 103, 2), level(8, ask, 104, 2), level(8, ask, 105, 2));
    outcome = book({"--json", "--depth", "5"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("105.0000"));
}

TEST_F(BookOfJournal, BeginsWithTheNewestCheckpointBeforeTheTime) {
    for (const bool with_orders : {false, true}) {
        std::filesystem::remove_all(folder_);
        std::size_t early = 0;
        {
            journal::JournalWriter writer{
                {.folder = folder_, .ring = "main", .segment_bytes = 1U << 20U, .sync = journal::Sync::none},
                kMidnight + kTen};
            writer.set_epoch(1);
            writer.keep_books();
            writer.name(0, {feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}});
            writer.set_depth(0, with_orders ? market::ChannelDepth{.orders = true} : market::ChannelDepth{.depth = 2});
            std::uint64_t ring = 0;
            const auto append = [&](const auto& event) {
                if (!writer.append(event, ++ring)) {
                    ASSERT_TRUE(writer.service(kMidnight));
                    ASSERT_TRUE(writer.append(event, ring));
                }
            };
            const auto bid = [&](std::int64_t second, feed::Price dollars, std::uint64_t size) {
                if (!with_orders) return append(level(second, feed::Side::bid, dollars, size));
                append(feed::Order{.instrument = 0,
                                   .flags = feed::kLast,
                                   .side = feed::Side::bid,
                                   .order_id = ring,
                                   .price = dollars * feed::kPriceScale,
                                   .size = size,
                                   .size_left = size,
                                   .receive_utc_ns = time_of(second)});
            };
            append(clear(0));
            bid(1, 100, 5);
            writer.end_books();
            bid(3, 101, 3);
            bid(5, 102, 1);
        }
        const auto whole = book({"--at", "10:00:04", "--json"});
        EXPECT_EQ(whole.exit_code, 0) << whole.err;
        EXPECT_THAT(whole.out, HasSubstr(R"("bids":[{"price":101.0000,"size":3,"count":1},{"price":100.0000)"));
        // What lies before the checkpoint is not read.
        {
            journal::SegmentReader segment{folder_ + "/0000000001.mpj"};
            journal::RecordView view;
            while (segment.next(view) == journal::ReadOutcome::record && early == 0) {
                if (view.ring == 2) early = view.offset;
            }
        }
        ASSERT_NE(early, 0U);
        std::fstream file{folder_ + "/0000000001.mpj", std::ios::in | std::ios::out | std::ios::binary};
        file.seekp(static_cast<std::streamoff>(early + 24)).put('\x55');
        file.close();
        const auto late = book({"--at", "10:00:04", "--json"});
        EXPECT_EQ(late.exit_code, 0) << late.err;
        EXPECT_EQ(late.out, whole.out);
        const ScratchFile rows{scratch_name("rows.csv"), ""};
        EXPECT_EQ(book({"--every", "1s", "--out", rows.path()}).exit_code, kDamaged);
    }
}

TEST_F(BookOfJournal, ReadsTheEventsIfTheBookOfTheCheckpointIsIncomplete) {
    std::uint64_t ring = 0;
    const auto write_run = [&](const auto& before_end, const auto&... events) {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = 1U << 20U, .sync = journal::Sync::none},
            kMidnight + kTen};
        writer.set_epoch(1);
        writer.keep_books();
        writer.name(0, {feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}});
        writer.set_depth(0, {.depth = 2});
        (static_cast<void>(writer.append(events, ++ring)), ...);
        before_end(writer);
    };
    const auto change_byte = [&](std::uint64_t of) {
        std::size_t at = 0;
        {
            journal::SegmentReader segment{folder_ + "/0000000001.mpj"};
            journal::RecordView view;
            while (at == 0 && segment.next(view) == journal::ReadOutcome::record) {
                if (view.ring + 1 == of) at = view.offset + (view.payload.size() + 2) * 8;
            }
        }
        ASSERT_NE(at, 0U);
        std::fstream file{folder_ + "/0000000001.mpj", std::ios::in | std::ios::out | std::ios::binary};
        file.seekg(static_cast<std::streamoff>(at + 24));
        const auto byte = static_cast<char>(file.get() ^ 1);
        file.seekp(static_cast<std::streamoff>(at + 24)).put(byte);
    };
    write_run([](auto&) {}, clear(0), level(1, feed::Side::bid, 100, 5));
    change_byte(2);
    write_run([](auto& writer) { writer.end_books(); }, level(3, feed::Side::bid, 101, 3));
    EXPECT_EQ(book({}).exit_code, kDamaged);
    change_byte(2);
    const auto outcome = book({"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(R"("bids":[{"price":101.0000,"size":3,"count":1},{"price":100.0000)"));
}

TEST_F(BookOfJournal, ReadsTheEventsIfTheBookOfTheCheckpointIsEmpty) {
    {
        journal::JournalWriter writer{
            {.folder = folder_, .ring = "main", .segment_bytes = 1U << 20U, .sync = journal::Sync::none},
            kMidnight + kTen};
        writer.set_epoch(1);
        writer.keep_books();
        writer.name(0, {feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}});
        writer.set_depth(0, {.depth = 2});
        ASSERT_TRUE(writer.append(clear(0), 1));
        ASSERT_TRUE(writer.append(level(1, feed::Side::bid, 100, 5), 2));
        ASSERT_TRUE(writer.append(level(2, feed::Side::bid, 100, 0), 3));
        writer.end_books();
        ASSERT_TRUE(writer.append(level(5, feed::Side::bid, 101, 3), 4));
    }
    const auto outcome = book({"--json", "--at", "10:00:03"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(R"("bids":[],"asks":[],"incomplete":false})"));
}

TEST_F(BookOfJournal, LevelsOfAnUnknownDepthAreNoBook) {
    write_events({}, clear(0), level(1, feed::Side::bid, 100, 5));
    const auto outcome = book({});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("the journal does not say how many of a side its feed sends"));
}

TEST_F(BookOfJournal, AfterAClearItSaysWhyThereIsNothingAndForgetsTheFaultsBefore) {
    using enum feed::Side;
    const auto add = [](std::int64_t second, std::uint64_t id) {
        return feed::Order{.instrument = 0,
                           .flags = feed::kLast,
                           .side = bid,
                           .order_id = id,
                           .price = 100 * feed::kPriceScale,
                           .size = 5,
                           .size_left = 5,
                           .receive_utc_ns = time_of(second)};
    };
    auto unknown = add(2, 8);
    unknown.action = feed::OrderAction::remove;
    write_events({.orders = true}, clear(0), add(1, 7), unknown, clear(3, 0, feed::ClearReason::end_of_session));
    EXPECT_THAT(book({"--at", "10:00:02"}).out, HasSubstr("incomplete, 1 changes of unknown orders"));
    auto outcome = book({});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, StartsWith("AAPL at 2020-01-30T15:00:03.000000000Z: complete\n"));
    EXPECT_EQ(outcome.err,
              "millpond: book: empty: no orders or levels since the end of the session at "
              "2020-01-30T15:00:03.000000000Z\n");
    // A gateway that starts in the middle of a session does not know the orders of before.
    write_events({.orders = true}, clear(5, feed::kIncomplete));
    outcome = book({});
    EXPECT_EQ(outcome.exit_code, kIncomplete);
    EXPECT_EQ(outcome.err,
              "millpond: book: incomplete: no snapshot since the start of a session at "
              "2020-01-30T15:00:05.000000000Z\n");
    write_events({.orders = true}, add(6, 9), unknown);
    outcome = book({});
    EXPECT_EQ(outcome.exit_code, kIncomplete);
    EXPECT_THAT(outcome.err, HasSubstr("incomplete: 1 changes of unknown orders\n"));
}

}  // namespace
}  // namespace millpond::app
