// The rule of ConfirmedSession in each format that has sequence numbers: by the decoder itself and behind two lines.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/miax_tom_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/feed/quotes_encoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::uint8_t kLive = 7;
constexpr std::uint8_t kNext = 8;
constexpr std::uint8_t kEarlier = 3;

/// Datagrams of one quote each, at the price of its number, or of none: a heartbeat.
template <class Decoder>
Bytes datagram(std::uint8_t session, std::uint64_t first, std::uint64_t count) {
    std::array<std::byte, 1'472> buffer;
    std::span<const std::byte> bytes;
    if constexpr (std::is_same_v<Decoder, ItchDecoder>) {
        MoldUdp64Encoder mold{std::string(1, static_cast<char>('A' + session)), first};
        ItchEncoder itch;
        itch.set_head(1, 5);
        mold.begin(buffer);
        for (auto n = first; n < first + count; ++n)
            EXPECT_TRUE(mold.add(itch.order_added(n, 'B', 1, "AAPL", static_cast<std::uint32_t>(n))));
        bytes = mold.finish();
    } else if constexpr (std::is_same_v<Decoder, MiaxTomDecoder>) {
        MiaxTomEncoder miax{{.session = session, .first_sequence = first}};
        miax.begin(buffer);
        if (count == 0) {
            EXPECT_TRUE(miax.heartbeat());
        }
        for (auto n = first; n < first + count; ++n) EXPECT_TRUE(miax.bid(1, 7, static_cast<Price>(n) * 100, 1));
        bytes = miax.finish();
    } else {
        QuotesEncoder quotes{{.channel = 0, .session = session}};
        // The encoder begins at 1.
        for (std::uint64_t n = 1; n < first; ++n) {
            quotes.begin(buffer);
            EXPECT_TRUE(quotes.add({}, Venue{"XNAS"}, Symbol{"AAPL"}));
            static_cast<void>(quotes.finish(0));
        }
        quotes.begin(buffer);
        for (auto n = first; n < first + count; ++n) {
            Quote quote;
            quote.bid_price = static_cast<Price>(n);
            quote.bid_size = 1;
            EXPECT_TRUE(quotes.add(quote, Venue{"XNAS"}, Symbol{"AAPL"}));
        }
        bytes = quotes.finish(0);
    }
    return {bytes.begin(), bytes.end()};
}

template <class Decoder>
class SessionOf : public testing::Test {
protected:
    static Bytes quotes(std::uint8_t session, std::uint64_t first, std::uint64_t count = 1) {
        return datagram<Decoder>(session, first, count);
    }
    static Bytes heartbeat(std::uint8_t session, std::uint64_t next) { return datagram<Decoder>(session, next, 0); }

    void take(const Bytes& bytes) {
        now_ += kSecondNs / 10;
        messages_ += decoder_.decode(bytes, arrival(), seen_).messages;
        const auto& counters = decoder_.counters();
        ASSERT_EQ(counters.messages.read(), messages_);
        ASSERT_EQ(messages_, counters.applied.read() + counters.ignored.read() + counters.unknown.read() +
                                 counters.stale.read() + counters.refused.read() + counters.rejected.read());
    }
    void take(std::size_t line, const Bytes& bytes) {
        now_ += kSecondNs / 10;
        DecoderTarget target{decoder_, seen_, [](std::span<const std::byte>, const DecodeResult&) {}};
        arbiter_.take(line, bytes, arrival(), target);
        std::uint64_t came = 0;
        std::uint64_t became = arbiter_.held();
        for (std::size_t i = 0; i <= LineArbiter<Decoder>::kAnswers; ++i) {
            const auto& counters = arbiter_.counters(i);
            came += counters.datagrams.read();
            became += counters.used.read() + counters.duplicates.read() + counters.late.read() + counters.others.read();
        }
        ASSERT_EQ(came, became);
    }
    [[nodiscard]] Arrival arrival() const { return {.receive_utc_ns = now_, .receive_ticks = 1, .channel = 0}; }
    /// The numbers of all quotes that came out.
    [[nodiscard]] std::vector<std::uint64_t> numbers() const {
        std::vector<std::uint64_t> numbers;
        for (const auto& quote : seen_.quotes) numbers.push_back(quote.feed_sequence);
        return numbers;
    }
    [[nodiscard]] std::uint64_t strays() const {
        std::uint64_t strays = arbiter_.strays().read();
        decoder_.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == "session_strays") strays += tally.read();
        });
        return strays;
    }

    std::int64_t now_{1'700'000'000 * kSecondNs};
    std::uint64_t messages_{0};
    InstrumentTable table_{16};
    Decoder decoder_{table_, typename Decoder::Options{}};
    LineArbiter<Decoder> arbiter_{{.held = 16}};
    Recorder seen_;
};
using Formats = testing::Types<ItchDecoder, MiaxTomDecoder, QuotesDecoder>;
TYPED_TEST_SUITE(SessionOf, Formats);

using Numbers = std::vector<std::uint64_t>;

TYPED_TEST(SessionOf, AStrayDatagramVoidsNothing) {
    this->take(this->quotes(kLive, 1));
    std::uint64_t number = 2;
    for (const auto session : {kNext, kEarlier}) {
        this->take(this->heartbeat(session, 1));
        this->take(this->quotes(kLive, number++));
        this->take(this->quotes(session, 1));
        this->take(this->quotes(kLive, number++));
    }
    EXPECT_TRUE(this->seen_.clears.empty());
    EXPECT_TRUE(this->seen_.gaps.empty());
    EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 4, 5}));
    EXPECT_EQ(this->strays(), 4U);
}

TYPED_TEST(SessionOf, AStrayDatagramOnEachOfTwoLinesVoidsNothing) {
    for (std::size_t line = 0; line < 2; ++line) this->take(line, this->quotes(kLive, 1));
    for (std::size_t line = 0; line < 2; ++line) this->take(line, this->heartbeat(kNext, 1));
    for (std::size_t line = 0; line < 2; ++line) this->take(line, this->quotes(kLive, 2));
    EXPECT_TRUE(this->seen_.clears.empty());
    EXPECT_EQ(this->numbers(), (Numbers{1, 2}));
    EXPECT_EQ(this->strays(), 2U);
}

TYPED_TEST(SessionOf, OfARealChangeNothingIsLost) {
    for (const auto session : {kNext, kEarlier, kLive}) {
        this->seen_ = Recorder{};
        if (session == kNext) this->take(this->quotes(kLive, 1, 2));
        this->seen_ = Recorder{};
        this->take(this->quotes(session, 1, 2));
        EXPECT_TRUE(this->seen_.order.empty()) << "not confirmed";
        this->take(this->quotes(session, 3, 2));
        EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 4}));
        ASSERT_EQ(this->seen_.clears.size(), 1U);
        EXPECT_EQ(this->seen_.order[0], EventKind::clear);
        EXPECT_EQ(this->seen_.clears[0].reason, ClearReason::new_session);
        EXPECT_TRUE(this->seen_.gaps.empty());
    }
}

TYPED_TEST(SessionOf, AHeartbeatConfirmsOnTheLineThatBroughtIt) {
    for (std::size_t line = 0; line < 2; ++line) this->take(line, this->quotes(kLive, 1));
    this->take(0, this->quotes(kNext, 1, 2));
    this->take(1, this->heartbeat(kLive, 2));
    this->take(0, this->heartbeat(kNext, 3));
    EXPECT_EQ(this->seen_.clears.size(), 1U);
    EXPECT_EQ(this->numbers(), (Numbers{1, 1, 2}));
    this->take(1, this->quotes(kNext, 1, 2));
    this->take(1, this->quotes(kNext, 3));
    EXPECT_EQ(this->numbers(), (Numbers{1, 1, 2, 3}));
    EXPECT_TRUE(this->seen_.gaps.empty());
}

TYPED_TEST(SessionOf, WhatTheOtherLineHasHeldFillsItsPlace) {
    for (std::size_t line = 0; line < 2; ++line) this->take(line, this->quotes(kLive, 1));
    this->take(0, this->quotes(kNext, 1, 2));  // line 1 loses this one, line 0 what follows it
    this->take(1, this->quotes(kNext, 3));
    this->take(1, this->quotes(kNext, 4));
    EXPECT_EQ(this->numbers(), (Numbers{1, 1, 2, 3, 4}));
    EXPECT_TRUE(this->seen_.gaps.empty());
}

TYPED_TEST(SessionOf, AfterSilenceTheFirstDatagramIsBelievedAndTheOldSessionHeardAgainAtItsSecondDatagram) {
    this->take(this->quotes(kLive, 1, 3));
    this->now_ += ConfirmedSession<int>::kSilentNs;
    this->take(this->heartbeat(kNext, 1));
    EXPECT_EQ(this->seen_.clears.size(), 1U);
    this->take(this->quotes(kLive, 4));
    EXPECT_EQ(this->seen_.quotes.size(), 3U);
    this->take(this->heartbeat(kLive, 5));
    EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 4}));
    EXPECT_EQ(this->seen_.clears.size(), 2U);
    this->take(this->quotes(kLive, 5));
    EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 4, 5}));
}

TYPED_TEST(SessionOf, RubbishOfAnotherSessionIsNeverHeld) {
    this->take(this->quotes(kLive, 1));
    for (int i = 0; i < 3; ++i) {
        auto cut = this->quotes(kNext, 1, 2);
        cut.pop_back();
        EXPECT_FALSE(this->decoder_.decode(cut, this->arrival(), this->seen_).ok());
        DecoderTarget target{this->decoder_, this->seen_, [](std::span<const std::byte>, const DecodeResult&) {}};
        this->arbiter_.take(0, cut, this->arrival(), target);
    }
    EXPECT_TRUE(this->seen_.clears.empty());
    EXPECT_EQ(this->arbiter_.held(), 0U);
    EXPECT_EQ(this->numbers(), (Numbers{1}));
}

}  // namespace
}  // namespace millpond::feed
