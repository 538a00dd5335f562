// Books that a reader of the files of levels and orders makes, against books of ordered maps that are made of the
// messages of the feed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_book_builder.hpp>
#include <millpond/market/ring_writer.hpp>

#include "gateway/sinks/csv/csv_sink.hpp"
#include "gateway/sinks/sink_thread.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/market/itch_flow.hpp"

namespace millpond::gateway::csv {
namespace {

using market::Flow;
using market::Ladder;
using market::Oracle;
using Fields = std::map<std::string, std::string>;

constexpr std::uint32_t kDepth = 3;
constexpr std::uint64_t kMessages = 4'000;
constexpr std::int64_t kRoundNs = 1'000'000'000;

std::vector<Fields> rows_of(const std::filesystem::path& path) {
    const auto split = [](const std::string& line) {
        std::vector<std::string> fields;
        std::istringstream in{line + ','};
        for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
        return fields;
    };
    std::ifstream in{path};
    std::string line;
    std::getline(in, line);
    const auto names = split(line);
    std::vector<Fields> rows;
    while (std::getline(in, line)) {
        const auto fields = split(line);
        EXPECT_EQ(fields.size(), names.size()) << line;
        auto& row = rows.emplace_back();
        for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields.at(i);
    }
    return rows;
}

std::uint64_t number_of(const Fields& row, const std::string& name) { return std::stoull(row.at(name)); }
feed::Price price_of(const Fields& row) { return feed::parse_price(row.at("price")).value(); }
bool has(const Fields& row, const std::string& flag) {
    return ('+' + row.at("flags") + '+').contains('+' + flag + '+');
}

/// Prices of a side with the size and number of their orders.
using Levels = std::map<feed::Price, std::pair<std::uint64_t, std::uint32_t>>;

/// The best levels; the others are forgotten, as a reader of a feed with that depth does.
Ladder best_of(Levels& levels, bool is_bid) {
    while (levels.size() > kDepth) levels.erase(is_bid ? levels.begin() : std::prev(levels.end()));
    Ladder ladder;
    for (const auto& [price, level] : levels) ladder.push_back({price, level.first, level.second});
    if (is_bid) std::ranges::reverse(ladder);
    return ladder;
}

struct Publisher {
    template <class Event>
    void on(const Event& event) {
        EXPECT_TRUE(writer.publish(event));
    }
    market::RingWriter& writer;
};

/// Publishes the groups of random messages to a ring of which a csv sink writes the files.
class CsvBooks : public ::testing::Test {
protected:
    CsvBooks() {
        std::filesystem::create_directories(folder_);
        const auto settings = test::settings_with<Settings>([&](Settings& s) { s.path = folder_ / "quotes.csv"; });
        market::RingWriter writer{{.name = ring_name("csv-books"),
                                   .capacity = 4'096,
                                   .max_instruments = 16,
                                   .max_channels = 4,
                                   .memory = {.prefault = true, .mode = 0600}}};
        feed::InstrumentTable table{16};
        for (feed::InstrumentId id = 0; id < Flow::kStocks; ++id) {
            const feed::Symbol symbol{"S" + std::to_string(id + 1)};
            EXPECT_EQ(table.find_or_add(feed::Venue{"XNAS"}, symbol), id);
            writer.name(id, feed::Venue{"XNAS"}, symbol);
        }
        SinkThread sink{{.ring = ring_name("csv-books"), .name = "csv"},
                        std::make_unique<CsvSink>(settings, core::kFileMode, service::LogFunction{}),
                        {}};
        feed::ItchBookBuilder builder{
            table,
            {.order_books = {.books = 16, .orders = 20'000, .level_chunks = 512}, .depth = kDepth, .orders = true}};
        builder.mark_complete();
        Publisher publisher{writer};
        Flow flow{7};
        std::int64_t now = 0;
        for (std::uint64_t number = 1; number <= kMessages; ++number) {
            const auto message = flow.next();
            messages_.emplace_back(message.begin(), message.end());
            builder.apply(message, number, {}, publisher);
            if (number % 50 == 0) sink.round(now += kRoundNs);
        }
        const auto account = sink.account();
        EXPECT_TRUE(account.closes());
        EXPECT_EQ(account.published, account.delivered);
    }
    ~CsvBooks() override { std::filesystem::remove_all(folder_); }

    /// The best levels after that message; to be asked in the order of the messages.
    Ladder expected(const Fields& row, feed::Side side) {
        for (const auto sequence = number_of(row, "sequence"); applied_ < sequence; ++applied_)
            oracle_.apply(messages_.at(applied_));
        return oracle_.best(static_cast<std::uint16_t>(row.at("symbol").back() - '0'), side, kDepth);
    }

    std::filesystem::path folder_{std::filesystem::path{::testing::TempDir()} /
                                  ("millpond_csv_books_" + std::to_string(getpid()))};

private:
    std::vector<std::vector<std::byte>> messages_;
    Oracle oracle_;
    std::size_t applied_{0};
};

TEST_F(CsvBooks, LevelsOfTheFileAreThoseOfTheMessagesAfterEachLastRow) {
    std::map<std::string, std::map<std::string, Levels>> books;
    std::uint64_t compared = 0;
    for (const auto& row : rows_of(folder_ / "quotes.levels.csv")) {
        auto& book = books[row.at("symbol")];
        const auto& side = row.at("side");
        if (side == "none") {
            book.clear();
        } else if (number_of(row, "size") == 0) {
            EXPECT_EQ(book[side].erase(price_of(row)), 1U);
        } else {
            book[side][price_of(row)] = {number_of(row, "size"), static_cast<std::uint32_t>(number_of(row, "count"))};
        }
        if (!has(row, "last")) continue;
        ASSERT_EQ(best_of(book["bid"], true), expected(row, feed::Side::bid)) << row.at("sequence");
        ASSERT_EQ(best_of(book["ask"], false), expected(row, feed::Side::ask)) << row.at("sequence");
        ++compared;
    }
    EXPECT_GT(compared, 500U);
}

TEST_F(CsvBooks, OrdersOfTheFileAreThoseOfTheMessagesAfterEachLastRow) {
    struct Order {
        std::string symbol;
        std::string side;
        feed::Price price;
        std::uint64_t size;
    };
    std::map<std::string, Order> orders;
    std::uint64_t compared = 0;
    for (const auto& row : rows_of(folder_ / "quotes.orders.csv")) {
        const auto& id = row.at("order_id");
        if (row.at("action") == "clear") {
            std::erase_if(orders, [&](const auto& entry) { return entry.second.symbol == row.at("symbol"); });
        } else if (row.at("size_left") == "0") {
            EXPECT_EQ(orders.erase(id), 1U);
        } else {
            orders[id] = {row.at("symbol"), row.at("side"), price_of(row), number_of(row, "size_left")};
        }
        if (!has(row, "last") || ++compared % 8 != 0) continue;
        for (const auto side : {feed::Side::bid, feed::Side::ask}) {
            const bool is_bid = side == feed::Side::bid;
            Levels levels;
            for (const auto& [order_id, order] : orders) {
                if (order.symbol != row.at("symbol") || order.side != (is_bid ? "bid" : "ask")) continue;
                levels[order.price].first += order.size;
                ++levels[order.price].second;
            }
            ASSERT_EQ(best_of(levels, is_bid), expected(row, side)) << row.at("sequence");
        }
    }
    EXPECT_GT(compared, 1'000U);
}

}  // namespace
}  // namespace millpond::gateway::csv
