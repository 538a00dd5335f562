#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <unistd.h>

#include <millpond/feed/event.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/journal_writer.hpp>

namespace millpond::journal {

inline constexpr std::uint64_t kSegmentBytes = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kEpoch = 77;
/// A segment of the tests has capacity for a few less than this many quotes.
inline constexpr std::uint64_t kQuotesInSegment = kSegmentBytes / kRecordBytes<feed::Quote>;

/// A quote that contains its ring number, so that any other is detected.
inline feed::Quote quote(std::uint64_t number, feed::InstrumentId id = 0) {
    feed::Quote quote;
    quote.instrument = id;
    quote.bid_price = static_cast<feed::Price>(number);
    quote.ask_price = static_cast<feed::Price>(number + 1);
    quote.bid_size = number * 3;
    quote.receive_utc_ns = static_cast<std::int64_t>(number * 1'000);
    quote.feed_sequence = number;
    return quote;
}

/// All items that a reader delivered.
struct Delivered {
    struct Item {
        Position at;
        std::variant<feed::Quote, feed::Trade, feed::TradeBreak, feed::Status, feed::Gap, feed::Clear, feed::Order,
                     feed::Level, feed::Imbalance, feed::Band, feed::Definition, feed::BestVenues, LostRecord>
            event;
    };

    explicit Delivered(JournalReader& from) : reader(from) {}
    template <class Event>
    void on(const Event& event) {
        items.push_back({reader.current(), event});
    }
    /// Reads everything.
    std::size_t drain() { return reader.poll(*this, SIZE_MAX); }
    template <class Event>
    [[nodiscard]] std::vector<Event> all() const {
        std::vector<Event> found;
        for (const auto& item : items) {
            if (const auto* event = std::get_if<Event>(&item.event)) found.push_back(*event);
        }
        return found;
    }

    JournalReader& reader;
    std::vector<Item> items;
};

class JournalTest : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("millpond-journal-" + std::to_string(getpid()));
        std::filesystem::remove_all(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] WriterOptions options() const {
        return {.folder = folder_, .ring = "main", .segment_bytes = kSegmentBytes, .sync = Sync::none};
    }
    /// Appends quotes first..last, and runs `service` between them.
    static void append(JournalWriter& writer, std::uint64_t first, std::uint64_t last) {
        for (auto number = first; number <= last; ++number) {
            if (!writer.append(quote(number), number)) {
                ASSERT_TRUE(writer.service(0));
                ASSERT_TRUE(writer.append(quote(number), number));
            }
        }
    }
    /// Fails unless these are quotes first..last, complete, each once and unchanged.
    static void expect_quotes(const Delivered& delivered, std::uint64_t first, std::uint64_t last) {
        const auto quotes = delivered.all<feed::Quote>();
        ASSERT_EQ(quotes.size(), last - first + 1);
        for (auto number = first; number <= last; ++number) {
            const auto& got = quotes[number - first];
            ASSERT_EQ(got.feed_sequence, number);
            ASSERT_EQ(got.bid_price, quote(number).bid_price);
            ASSERT_EQ(got.bid_size, quote(number).bid_size);
        }
    }

    std::filesystem::path folder_;
};

}  // namespace millpond::journal
