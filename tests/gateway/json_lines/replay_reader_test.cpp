// The parts that the thread of the replays makes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/journal/segment_index.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "gateway/json_lines/replay.hpp"
#include "gateway/json_lines/replay_reader.hpp"
#include "tests/gateway/json_lines/replay_fixture.hpp"

namespace millpond::gateway::replay_test {
namespace {

class ReplayReaderTest : public ReplayTest<Tcp> {
protected:
    /// Publishes and journals quotes of one instrument.
    void write_quotes(std::uint64_t count) {
        for (; count != 0; --count) {
            auto quote = market::quote_of(0, 0, ++value_);
            quote.flags = feed::kLast;
            ASSERT_TRUE(ring_->publish(quote));
        }
        journal_all();
    }
    [[nodiscard]] std::uint64_t epoch() const { return market::RingReader{{.name = name_}}.epoch(); }
    /// Sequences of the text's events, in their order.
    static std::vector<std::uint64_t> sequences(std::string_view text) {
        std::vector<std::uint64_t> found;
        constexpr std::string_view kKey = R"("sequence":)";
        for (auto at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at + 1))
            found.push_back(std::stoull(std::string{text.substr(at + kKey.size(), 20)}));
        return found;
    }
    static std::vector<std::uint64_t> up_to(std::uint64_t last) {
        std::vector<std::uint64_t> numbers(last);
        std::iota(numbers.begin(), numbers.end(), 1);
        return numbers;
    }
};

TEST_F(ReplayReaderTest, APartIsShortAlsoAfterAGapThatConcernsManyBooks) {
    constexpr feed::InstrumentId kInstruments = 2'000;
    auto options = market::small_ring(name_);
    options.capacity = 1U << 14U;
    options.max_instruments = kInstruments;
    options.depth = kDepth;
    ring_ = std::make_unique<market::RingWriter>(options);
    ASSERT_TRUE(ring_->set_depth(0, {.depth = kDepth}));
    market::name_instruments(*ring_, kInstruments);
    open_journal();
    for (feed::InstrumentId id = 0; id < kInstruments; ++id) {
        feed::Level level;
        level.instrument = id;
        level.flags = feed::kSnapshot;
        ASSERT_TRUE(ring_->publish(level));
        level.side = feed::Side::bid;
        level.price = feed::kPriceScale;
        level.size = 1;
        ASSERT_TRUE(ring_->publish(level));
        auto quote = market::quote_of(id, 0, ++value_);
        quote.flags = feed::kLast;
        ASSERT_TRUE(ring_->publish(quote));
    }
    ASSERT_TRUE(ring_->publish(feed::Gap{.channel = 0, .first = ++value_}));
    journal_all();

    json_lines::WantedSymbols wanted;
    wanted.everything_depth = {.levels = kDepth};
    const auto replay = std::make_shared<json_lines::Replay>(json_lines::ReplayStart{.record = 1}, wanted);
    const json_lines::ReplayReader::From from{
        .journal = folder_, .ring = name_, .epoch = market::RingReader{{.name = name_}}.epoch()};
    millpond::journal::SegmentIndex index{folder_, name_};
    json_lines::ReplayReader reader{from, index, replay};
    const auto newest = ring_->newest();
    replay->offer(newest);
    std::string text;
    std::size_t longest = 0;
    json_lines::ReplayPart part;
    while (!part.state) {
        static_cast<void>(reader.step(newest));
        while (!part.state && replay->try_pop(part)) {
            ASSERT_EQ(part.failure, "");
            longest = std::max(longest, part.text.size());
            text += part.text;
            const auto& account = part.account;
            EXPECT_EQ(account.published, account.delivered + account.filtered + account.conflated + account.queued);
        }
    }
    EXPECT_EQ(part.number, newest);
    EXPECT_EQ(part.account.queued, 0U);
    EXPECT_LT(longest, 150'000U);
    EXPECT_GT(text.size(), 1'000'000U);
    // Each book, and each quote after the gap.
    std::size_t incomplete = 0;
    const auto gap = text.find(R"("type":"gap")");
    ASSERT_NE(gap, std::string::npos);
    for (auto at = text.find(R"("type":"quote")", gap); at != std::string::npos;
         at = text.find(R"("type":"quote")", at + 1)) {
        ++incomplete;
    }
    EXPECT_EQ(incomplete, kInstruments);
}

TEST_F(ReplayReaderTest, AnOfferThatIsWithdrawnForANewerOneIsPassed) {
    start_ring(1U << 12U);
    open_journal();
    write_quotes(100);
    const auto replay =
        std::make_shared<json_lines::Replay>(json_lines::ReplayStart{.record = 1}, json_lines::WantedSymbols{});
    const json_lines::ReplayReader::From from{.journal = folder_, .ring = name_, .epoch = epoch()};
    millpond::journal::SegmentIndex index{folder_, name_};
    json_lines::ReplayReader reader{from, index, replay};
    std::string text;
    const auto read_to = [&](std::uint64_t offered) {
        replay->offer(offered);
        json_lines::ReplayPart part;
        while (!part.state) {
            static_cast<void>(reader.step(ring_->newest()));
            while (!part.state && replay->try_pop(part)) text += part.text;
        }
        return part.number;
    };
    EXPECT_EQ(read_to(50), 50U);
    EXPECT_EQ(reader.step(ring_->newest()), json_lines::ReplayReader::Outcome::waits_for_client);
    EXPECT_EQ(sequences(text), up_to(50));
    write_quotes(20);
    EXPECT_EQ(read_to(110), 110U);
    EXPECT_EQ(sequences(text), up_to(110));
}

TEST_F(ReplayReaderTest, WithoutAClientThatTakesThemThereAreTwoPartsAndNoMoreIsRead) {
    start_ring(1U << 14U);
    open_journal();
    write_quotes(8'000);
    const auto replay =
        std::make_shared<json_lines::Replay>(json_lines::ReplayStart{.record = 1}, json_lines::WantedSymbols{});
    const json_lines::ReplayReader::From from{.journal = folder_, .ring = name_, .epoch = epoch()};
    millpond::journal::SegmentIndex index{folder_, name_};
    json_lines::ReplayReader reader{from, index, replay};
    const auto newest = ring_->newest();
    using Outcome = json_lines::ReplayReader::Outcome;
    std::string text;
    std::size_t taken = 0;
    while (sequences(text).size() < newest) {
        while (reader.step(newest) == Outcome::moved) {
        }
        json_lines::ReplayPart part;
        std::size_t parts = 0;
        std::size_t bytes = 0;
        const bool is_full = replay->is_full();
        while (replay->try_pop(part)) {
            ++parts;
            bytes += part.text.size();
            text += part.text;
        }
        EXPECT_EQ(is_full, parts == json_lines::Replay::kMaxParts);
        EXPECT_LE(parts, json_lines::Replay::kMaxParts);
        EXPECT_LT(bytes, 300'000U);
        ++taken;
        ASSERT_NE(parts, 0U);
    }
    EXPECT_GT(taken, 5U);
    EXPECT_EQ(sequences(text), up_to(newest));
}

}  // namespace
}  // namespace millpond::gateway::replay_test
