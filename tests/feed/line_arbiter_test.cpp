#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/quotes_decoder.hpp>

#include "tests/feed/recorder.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::feed {
namespace {

using Bytes = std::vector<std::byte>;
using Arbiter = LineArbiter<ItchDecoder>;

/// A decoder of sequence numbers: the content of a message is its number.
struct Numbers {
    [[nodiscard]] std::uint64_t next() const { return next_; }
    [[nodiscard]] const moldudp64_layout::Session& session() const { return session_; }
    [[nodiscard]] bool is_missing(std::uint64_t first, std::uint64_t last) const {
        return std::ranges::any_of(missing, [&](auto number) { return number >= first && number <= last; });
    }
    [[nodiscard]] bool accepts(const moldudp64_layout::Session&) const { return true; }
    void decode(std::span<const std::byte> bytes, const Arrival&) {
        const auto packet = MoldUdp64Packet::read(bytes, [](auto) {});
        if (next_ == 0) {
            next_ = packet.sequence;
            session_ = packet.session;
            ++sessions;
        }
        if (packet.session != session_) return;
        for (; next_ < packet.sequence; ++next_) missing.insert(next_);
        auto place = moldudp64_layout::kHeaderBytes;
        for (std::uint64_t i = 0; i < packet.messages; ++i) {
            const auto message = next_block(bytes, place);
            if (packet.sequence + i < next_) continue;
            applied.push_back(core::load_be<std::uint64_t>(message.data()));
            ++next_;
        }
    }
    void begin_session(const moldudp64_layout::Session& session, std::uint64_t, const Arrival&) {
        next_ = 1;
        session_ = session;
        ++sessions;
    }
    void restart_at(std::uint64_t first, const Arrival&) {
        next_ = first;
        ++restarts;
    }

    std::vector<std::uint64_t> applied;
    std::set<std::uint64_t> missing;
    int sessions{0};
    int restarts{0};

private:
    std::uint64_t next_{0};
    moldudp64_layout::Session session_{};
};

Bytes datagram(std::uint64_t first, std::uint64_t count, std::string_view session = "S1") {
    std::array<std::byte, 1'400> buffer;
    MoldUdp64Encoder encoder{session, first};
    encoder.begin(buffer);
    for (std::uint64_t i = 0; i < count; ++i) {
        std::array<std::byte, 8> message;
        core::store_be(message.data(), first + i);
        EXPECT_TRUE(encoder.add(message));
    }
    const auto bytes = encoder.finish();
    return {bytes.begin(), bytes.end()};
}

Arrival at(std::uint64_t ticks) { return {.receive_utc_ns = 0, .receive_ticks = ticks, .channel = 0}; }

void expect_closed(const Arbiter& arbiter, std::size_t held = 0) {
    std::uint64_t sum = held;
    std::uint64_t all = 0;
    for (std::size_t line = 0; line <= Arbiter::kAnswers; ++line) {
        const auto& counters = arbiter.counters(line);
        all += counters.datagrams.read();
        sum += counters.used.read() + counters.duplicates.read() + counters.late.read() + counters.others.read();
    }
    EXPECT_EQ(all, sum);
}

/// A random schedule of both lines: the arrivals, and the numbers that arrived at all.
struct Schedule {
    struct Item {
        std::uint64_t time;
        std::size_t line;
        Bytes bytes;
        std::uint64_t first;
        std::uint64_t count;
    };
    Schedule(std::uint64_t seed, double drop, std::uint64_t max_delay) {
        std::mt19937_64 random{seed};
        std::uniform_real_distribution<double> chance;
        std::uint64_t next = 1;
        for (std::uint64_t time = 100; time < 3'100; ++time) {
            const auto count = random() % 5;
            for (std::size_t line = 0; line < 2; ++line) {
                for (int copies = chance(random) < 0.05 ? 2 : 1; copies > 0; --copies) {
                    if (time != 100 && chance(random) < drop) continue;
                    const auto delay = time == 100 ? 0 : random() % (max_delay + 1);
                    items.push_back({time + delay, line, datagram(next, count), next, count});
                    for (std::uint64_t i = 0; i < count; ++i) came.insert(next + i);
                }
            }
            next += count;
        }
        std::ranges::stable_sort(items, {}, &Item::time);
        end = next;
    }
    void play(Arbiter& arbiter, Numbers& target, std::uint64_t window) const {
        for (const auto& item : items) {
            while (arbiter.holding() && item.time - arbiter.since() > window) arbiter.give_up(target);
            arbiter.receive(item.line, item.bytes, at(item.time), target);
        }
        expect_closed(arbiter, arbiter.held());
        while (arbiter.holding()) arbiter.give_up(target);
        expect_closed(arbiter);
    }
    std::vector<Item> items;
    std::set<std::uint64_t> came;
    std::uint64_t end{0};
};

TEST(LineArbiter, InAWideWindowEveryNumberThatAnyLineBroughtIsUsedOnceAndInOrder) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Schedule schedule{seed, seed % 2 == 0 ? 0.02 : 0.3, seed % 20};
        Arbiter arbiter{{.held = 4'096}};
        Numbers target;
        schedule.play(arbiter, target, 1'000'000);
        const std::vector<std::uint64_t> expected(schedule.came.begin(), schedule.came.end());
        ASSERT_EQ(target.applied, expected) << "seed " << seed;
        for (const auto number : target.missing) ASSERT_FALSE(schedule.came.contains(number)) << "seed " << seed;
    }
}

TEST(LineArbiter, InANarrowWindowOrderIsKeptAndUnusedDatagramsWereTooLate) {
    std::uint64_t late = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Schedule schedule{seed, 0.2, 30};
        Arbiter arbiter{{.held = 1 + seed % 7}};
        Numbers target;
        schedule.play(arbiter, target, seed % 15);
        ASSERT_TRUE(std::ranges::is_sorted(target.applied, std::less_equal{})) << "seed " << seed;
        auto all = target.missing;
        for (const auto number : target.applied) {
            ASSERT_TRUE(schedule.came.contains(number));
            ASSERT_TRUE(all.insert(number).second) << "both missing and used";
        }
        EXPECT_EQ(all.size(), target.next() - 1);
        for (std::size_t line = 0; line < 2; ++line) late += arbiter.counters(line).late.read();
    }
    EXPECT_GT(late, 0U);
}

TEST(LineArbiter, LossesOfOneLineAreFilledByTheOtherAndBothAreCounted) {
    Arbiter arbiter{{}};
    Numbers target;
    arbiter.receive(0, datagram(1, 2), at(1), target);
    arbiter.receive(1, datagram(1, 2), at(2), target);
    arbiter.receive(0, datagram(5, 1), at(3), target);  // 3 and 4 are missing on line 0
    ASSERT_TRUE(arbiter.holding());
    EXPECT_EQ(arbiter.since(), 3U);
    EXPECT_EQ(arbiter.gap(target).first, 3U);
    EXPECT_EQ(arbiter.gap(target).last, 4U);
    EXPECT_EQ(target.applied.size(), 2U);
    arbiter.receive(1, datagram(3, 2), at(4), target);
    EXPECT_FALSE(arbiter.holding());
    EXPECT_EQ(target.applied, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(arbiter.counters(0).used.read(), 2U);
    EXPECT_EQ(arbiter.counters(1).used.read(), 1U);
    EXPECT_EQ(arbiter.counters(1).duplicates.read(), 1U);
    EXPECT_EQ(arbiter.counters(1).filled.read(), 1U);
    EXPECT_EQ(arbiter.sequence(0).missing.read(), 2U);
    EXPECT_EQ(arbiter.sequence(1).missing.read(), 0U);
    EXPECT_TRUE(target.missing.empty());
}

TEST(LineArbiter, AHeartbeatAheadIsAGapTooAndOneBehindIsIgnored) {
    Arbiter arbiter{{}};
    Numbers target;
    arbiter.receive(0, datagram(1, 1), at(1), target);
    arbiter.receive(0, datagram(3, 0), at(2), target);  // number 2 was lost, and the feed is silent
    ASSERT_TRUE(arbiter.holding());
    EXPECT_TRUE(target.missing.empty());
    arbiter.receive(1, datagram(2, 1), at(3), target);
    EXPECT_FALSE(arbiter.holding());
    arbiter.receive(1, datagram(2, 0), at(4), target);
    EXPECT_EQ(target.applied, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_TRUE(target.missing.empty());
    expect_closed(arbiter);
}

TEST(LineArbiter, AStrayHeartbeatFarAheadHoldsNothingUp) {
    Arbiter arbiter{{}};
    Numbers target;
    arbiter.receive(0, datagram(1, 1), at(1), target);
    arbiter.receive(0, datagram(1'000'000, 0), at(2), target);
    for (std::uint64_t number = 2; number < 10; ++number) arbiter.receive(0, datagram(number, 1), at(number), target);
    EXPECT_EQ(target.applied, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
    EXPECT_TRUE(target.missing.empty());
    EXPECT_EQ(arbiter.sequence(0).missing.read(), 0U);
    expect_closed(arbiter);
    arbiter.receive(0, datagram(1'000'000, 0), at(11), target);
    arbiter.receive(0, datagram(1'000'000, 0), at(12), target);
    EXPECT_EQ(arbiter.gap(target).last, 999'999U);
}

TEST(LineArbiter, AFullWindowGivesTheFirstHoleUp) {
    Arbiter arbiter{{.held = 2}};
    Numbers target;
    for (const std::uint64_t first : {1U, 3U, 5U, 7U}) arbiter.receive(0, datagram(first, 1), at(first), target);
    EXPECT_EQ(target.applied, (std::vector<std::uint64_t>{1, 3}));
    EXPECT_EQ(arbiter.given_up().read(), 1U);
    arbiter.receive(1, datagram(2, 1), at(9), target);
    EXPECT_EQ(arbiter.counters(1).late.read(), 1U);
    EXPECT_THROW(Arbiter({.held = 0}), std::invalid_argument);
}

TEST(LineArbiter, ADatagramTooLongToWaitGivesTheHolesBeforeItUp) {
    Arbiter arbiter{{.held = 8, .max_bytes = 64}};
    Numbers target;
    arbiter.receive(0, datagram(1, 1), at(1), target);
    arbiter.receive(0, datagram(3, 1), at(2), target);
    arbiter.receive(0, datagram(5, 20), at(3), target);
    EXPECT_FALSE(arbiter.holding());
    EXPECT_EQ(target.next(), 25U);
    EXPECT_EQ(target.missing, (std::set<std::uint64_t>{2, 4}));
    expect_closed(arbiter);
}

TEST(LineArbiter, ANewSessionIsFollowedAndTheSlowerLinesRestOfTheOldOneIsOld) {
    Arbiter arbiter{{}};
    Numbers target;
    arbiter.receive(0, datagram(1, 3), at(1), target);
    arbiter.receive(1, datagram(1, 2), at(1), target);
    // Line 0 starts the next session with its second datagram: the first arrives on line 1, once that has changed too.
    arbiter.receive(0, datagram(2, 1, "S2"), at(2), target);
    EXPECT_EQ(target.sessions, 1);
    arbiter.receive(0, datagram(3, 1, "S2"), at(2), target);
    EXPECT_EQ(target.sessions, 2);
    ASSERT_TRUE(arbiter.holding());
    for (int i = 0; i < 100; ++i) arbiter.receive(1, datagram(3, 1), at(3), target);
    EXPECT_EQ(target.sessions, 2);
    arbiter.receive(1, datagram(1, 1, "S2"), at(4), target);
    EXPECT_EQ(target.applied, (std::vector<std::uint64_t>{1, 2, 3, 1, 2, 3}));
    EXPECT_TRUE(target.missing.empty());
    EXPECT_EQ(arbiter.counters(1).duplicates.read(), 101U);
    expect_closed(arbiter);
}

TEST(LineArbiter, NumbersBeforeTheFirstDatagramAreAGapIfRequested) {
    Arbiter arbiter{{.from_first = true}};
    Numbers target;
    arbiter.receive(0, datagram(4, 1), at(1), target);
    ASSERT_TRUE(arbiter.holding());
    EXPECT_EQ(arbiter.gap(target).first, 1U);
    EXPECT_EQ(arbiter.gap(target).last, 3U);
    arbiter.receive(Arbiter::kAnswers, datagram(1, 3), at(2), target);
    EXPECT_EQ(target.applied, (std::vector<std::uint64_t>{1, 2, 3, 4}));
    EXPECT_EQ(arbiter.counters(Arbiter::kAnswers).filled.read(), 1U);
    arbiter.receive(Arbiter::kAnswers, datagram(1, 3, "S0"), at(3), target);
    EXPECT_EQ(target.sessions, 1);
    expect_closed(arbiter);
}

TEST(LineArbiter, ASenderThatBeginsAgainIsBelievedOneLineThatGoesBackIsNot) {
    Arbiter arbiter{{}};
    Numbers target;
    for (std::uint64_t n = 1; n <= 200; ++n) {
        arbiter.receive(0, datagram(n, 1), at(n), target);
        arbiter.receive(1, datagram(n, 1), at(n), target);
    }
    // Line 1 repeats the beginning while line 0 continues.
    for (std::uint64_t n = 1; n <= 100; ++n) {
        arbiter.receive(0, datagram(200 + n, 1), at(n), target);
        arbiter.receive(1, datagram(n, 1), at(n), target);
    }
    EXPECT_EQ(target.restarts, 0);
    EXPECT_EQ(target.next(), 301U);
    for (std::uint64_t n = 1; n <= 100; ++n) arbiter.receive(0, datagram(n, 1), at(n), target);
    EXPECT_EQ(target.restarts, 1);
    EXPECT_EQ(target.next(), 101U);
    expect_closed(arbiter);
}

TEST(LineArbiter, AGapFilledWhileTheSenderBeginsAgainDoesNotHideThat) {
    Arbiter arbiter{{}};
    Numbers target;
    arbiter.receive(0, datagram(1, 100), at(1), target);
    arbiter.receive(0, datagram(102, 1), at(2), target);
    for (std::uint64_t n = 1; n <= 20; ++n) arbiter.receive(0, datagram(n, 1), at(3), target);
    arbiter.receive(Arbiter::kAnswers, datagram(101, 1), at(4), target);
    ASSERT_EQ(target.next(), 103U);
    for (std::uint64_t n = 21; n <= 100; ++n) arbiter.receive(0, datagram(n, 1), at(5), target);
    EXPECT_EQ(target.restarts, 1);
    EXPECT_EQ(target.next(), 101U);
    expect_closed(arbiter);
}

TEST(LineArbiter, ALineThatWentBackIsIgnoredEvenWhenItOvertakesTheOther) {
    Arbiter arbiter{{}};
    Numbers target;
    for (std::size_t line = 0; line < 2; ++line) arbiter.receive(line, datagram(1, 100), at(1), target);
    for (std::uint64_t n = 1; n <= 200; ++n) {
        if (n % 4 == 0) arbiter.receive(0, datagram(100 + n / 4, 1), at(2), target);
        arbiter.receive(1, datagram(n, 1), at(2), target);
    }
    EXPECT_EQ(target.restarts, 0);
    EXPECT_EQ(target.next(), 151U);
    // Only line 1 still delivers.
    for (std::uint64_t n = 201; n <= 240; ++n) arbiter.receive(1, datagram(n, 1), at(3), target);
    EXPECT_EQ(target.restarts, 1);
    EXPECT_EQ(target.next(), 241U);
    expect_closed(arbiter);
}

TEST(LineArbiter, ALineWithADamagedCountIsUsedOnAndHasNoLossesOfIt) {
    for (const std::size_t damaged : {0U, 1U}) {  // the line that is ahead, and the one behind
        Arbiter arbiter{{}};
        Numbers target;
        const auto send = [&](std::size_t line, std::uint64_t n, bool is_damaged = false) {
            auto bytes = datagram(n, 1);
            if (is_damaged)
                core::store_be(bytes.data() + moldudp64_layout::kCountAt, static_cast<std::uint16_t>(60'000));
            arbiter.receive(line, bytes, at(n), target);
        };
        std::uint64_t n = 1;
        for (; n <= 200; ++n) {
            for (std::size_t line = 0; line < 2; ++line) send(line, n, n == 100 && line == damaged);
        }
        EXPECT_EQ(arbiter.sequence(damaged).restarts.read(), 0U);
        EXPECT_EQ(arbiter.sequence(damaged).duplicates.read(), 0U);
        // The other line falls silent: nothing is missing.
        for (; n <= 300; ++n) send(damaged, n);
        EXPECT_EQ(target.applied.size(), 300U);
        EXPECT_TRUE(target.missing.empty());
        EXPECT_EQ(target.restarts, 0);
        EXPECT_EQ(arbiter.sequence(damaged).missing.read(), 0U);
        expect_closed(arbiter);
    }
}

TEST(LineArbiter, LinesThatBothBeginAgainGoOnAsOneFeed) {
    Arbiter arbiter{{}};
    Numbers target;
    for (std::size_t line = 0; line < 2; ++line) arbiter.receive(line, datagram(1, 100), at(1), target);
    for (std::uint64_t n = 1; n <= 90; ++n) {
        arbiter.receive(0, datagram(n, 1), at(2), target);
        if (n > 20) arbiter.receive(1, datagram(n - 20, 1), at(2), target);
    }
    EXPECT_EQ(target.restarts, 1);
    // Each line still fills the gaps of the other.
    arbiter.receive(0, datagram(92, 1), at(3), target);
    for (std::uint64_t n = 71; n <= 92; ++n) arbiter.receive(1, datagram(n, 1), at(3), target);
    EXPECT_EQ(target.next(), 93U);
    EXPECT_TRUE(target.missing.empty());
    expect_closed(arbiter);
}

template <class Decoder>
class ArbitratedFormat : public ::testing::Test {
public:
    static constexpr WireFormat format() {
        if constexpr (std::is_same_v<Decoder, ItchDecoder>) return WireFormat::itch;
        if constexpr (std::is_same_v<Decoder, MiaxTomDecoder>) return WireFormat::miax_tom;
        return WireFormat::quotes;
    }
    static Decoder make(InstrumentTable& instruments) {
        typename Decoder::Options options;
        return Decoder{instruments, options};
    }
    GeneratedFeed feed{{.format = format(), .market = {.instruments = 50}, .steps_per_datagram = 3}};
};
using Formats = ::testing::Types<ItchDecoder, MiaxTomDecoder, QuotesDecoder>;
TYPED_TEST_SUITE(ArbitratedFormat, Formats);

TYPED_TEST(ArbitratedFormat, TwoLossyLinesGiveTheEventsOfOneThatLosesNothing) {
    InstrumentTable table{64};
    InstrumentTable other_table{64};
    auto whole = this->make(table);
    auto decoder = this->make(other_table);
    Recorder expected;
    Recorder got;
    std::uint64_t errors = 0;
    DecoderTarget target{
        decoder, got, [&](std::span<const std::byte>, const DecodeResult& result) { errors += result.ok() ? 0U : 1U; }};
    LineArbiter<TypeParam> arbiter{{}};
    std::mt19937_64 random{7};
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    Bytes late;  // line 1 is a datagram behind
    for (int i = 0; i < 3'000; ++i) {
        const auto bytes = this->feed.next(buffer, 1'700'000'000'000'000'000 + i * 1'000'000LL);
        static_cast<void>(whole.decode(bytes, {}, expected));
        const auto fate = random() % 10;
        if (fate != 0 || i < 2) arbiter.receive(0, bytes, at(1), target);
        if (!late.empty()) arbiter.receive(1, late, at(1), target);
        late.clear();
        if (fate != 1) late.assign(bytes.begin(), bytes.end());
    }
    if (!late.empty()) arbiter.receive(1, late, at(1), target);
    EXPECT_FALSE(arbiter.holding());
    EXPECT_EQ(errors, 0U);
    EXPECT_EQ(got.order, expected.order);
    ASSERT_EQ(got.quotes.size(), expected.quotes.size());
    for (std::size_t i = 0; i < got.quotes.size(); ++i) {
        auto quote = got.quotes[i];
        quote.receive_ticks = 0;
        ASSERT_EQ(std::memcmp(&quote, &expected.quotes[i], sizeof quote), 0) << "quote " << i;
    }
    EXPECT_GT(arbiter.counters(1).filled.read(), 100U);
    EXPECT_EQ(decoder.sequence().counters().missing.read(), 0U);
}

TYPED_TEST(ArbitratedFormat, RubbishIsTheDecodersToJudgeAndHoldsNothingUp) {
    InstrumentTable table{64};
    auto decoder = this->make(table);
    Recorder got;
    std::uint64_t errors = 0;
    DecoderTarget target{
        decoder, got, [&](std::span<const std::byte>, const DecodeResult& result) { errors += result.ok() ? 0U : 1U; }};
    LineArbiter<TypeParam> arbiter{{.held = 16}};
    std::mt19937_64 random{11};
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    for (int i = 0; i < 2'000; ++i) {
        const auto good = this->feed.next(buffer, 1'700'000'000'000'000'000 + i * 1'000'000LL);
        for (std::size_t line = 0; line < 2; ++line) {
            Bytes bytes(good.begin(), good.end());
            if (random() % 3 == 0) bytes.resize(random() % bytes.size());
            if (random() % 3 == 0 && !bytes.empty()) bytes[random() % bytes.size()] ^= static_cast<std::byte>(random());
            const ExactCopy copy{bytes};
            arbiter.receive(line, copy.span(), at(static_cast<std::uint64_t>(i)), target);
        }
        if (arbiter.holding() && random() % 4 == 0) arbiter.give_up(target);
    }
    EXPECT_GT(errors, 0U);
    std::uint64_t sum = arbiter.held();
    for (std::size_t line = 0; line < 2; ++line) {
        const auto& counters = arbiter.counters(line);
        sum += counters.used.read() + counters.duplicates.read() + counters.late.read() + counters.others.read();
    }
    EXPECT_EQ(sum, 4'000U);
}

TYPED_TEST(ArbitratedFormat, TwoLinesNeedNoHeapNoFaultAndNoSystemCall) {
    InstrumentTable table{64};
    auto decoder = this->make(table);
    struct Ignore {
        void on(const Quote&) {}
        void on(const Trade&) {}
        void on(const TradeBreak&) {}
        void on(const Status&) {}
        void on(const Gap&) {}
        void on(const Clear&) {}
    } ignore;
    DecoderTarget target{decoder, ignore, [](std::span<const std::byte>, const DecodeResult&) {}};
    LineArbiter<TypeParam> arbiter{{}};
    // Made before, so that the generator's own allocations are not counted.
    constexpr std::size_t kACall = 10'000;
    constexpr std::size_t kCalls = 3;
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    std::vector<std::vector<std::byte>> datagrams;
    for (std::size_t i = 0; i < kCalls * kACall; ++i) {
        const auto bytes =
            this->feed.next(buffer, 1'700'000'000'000'000'000 + static_cast<std::int64_t>(i) * 1'000'000);
        datagrams.emplace_back(bytes.begin(), bytes.end());
    }
    std::size_t next = 0;
    test::expect_free_of_cost([&] {
        const auto before = decoder.counters().quotes.read();
        for (std::size_t i = 0; i < kACall; ++i) {
            const std::span<const std::byte> bytes = datagrams[next++];
            if (i % 100 != 50) arbiter.receive(0, bytes, at(1), target);
            if (i % 100 < 50) arbiter.receive(1, bytes, at(1), target);
            if (i % 1'000 == 999 && arbiter.holding()) arbiter.give_up(target);
        }
        return decoder.counters().quotes.read() > before;
    });
}

}  // namespace
}  // namespace millpond::feed
