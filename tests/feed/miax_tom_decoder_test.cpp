#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/miax_tom_encoder.hpp>

#include "tests/feed/real_data.hpp"
#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

constexpr std::uint32_t kSeconds = 1'476'819'540;

class MiaxTom : public testing::Test {
protected:
    /// A datagram with the messages that `write` adds to the encoder.
    template <class Write>
    std::vector<std::byte> datagram(Write write) {
        std::array<std::byte, 1472> buffer;
        encoder_.begin(buffer);
        write(encoder_);
        const auto bytes = encoder_.finish();
        return {bytes.begin(), bytes.end()};
    }
    DecodeResult feed(std::span<const std::byte> bytes) {
        const ExactCopy exact{bytes};
        return decoder_.decode(exact.span(), {.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7}, seen_);
    }
    template <class Write>
    DecodeResult feed_written(Write write) {
        return feed(datagram(write));
    }
    void bid(std::uint32_t product, std::int32_t price, std::uint32_t size = 10) {
        feed_written([&](auto& to) { ASSERT_TRUE(to.bid(product, 7, price_from<10'000>(price), size)); });
    }
    void offer(std::uint32_t product, std::int32_t price, std::uint32_t size = 10) {
        feed_written([&](auto& to) { ASSERT_TRUE(to.offer(product, 7, price_from<10'000>(price), size)); });
    }
    [[nodiscard]] bool last_is_incomplete() const { return (seen_.quotes.back().flags & kIncomplete) != 0; }

    InstrumentTable table_{64};
    MiaxTomEncoder encoder_{{.session = 1, .first_sequence = 100}};
    MiaxTomDecoder decoder_{table_, {}};
    Recorder seen_;
};

// Source: three packets of Miax.Tom.Mach.v1.9.Example.pcap (Open Markets Initiative), decoded manually with the ToM
// specification 1.9: the system time 1476819540, a bid of 5.00 for 144 contracts, a trade of 8 contracts at 0.15.
TEST_F(MiaxTom, GoldenBytesOfTheCapture) {
    EXPECT_TRUE(feed(from_hex("bcc5730100000000 1100 03 01 31547a0658"
                              "bdc5730100000000 1c00 03 01 426f0b0100 840a0004 f401 9000 0000 41"))
                    .ok());
    ASSERT_EQ(seen_.quotes.size(), 1U);
    EXPECT_EQ(table_.symbol(seen_.quotes[0].instrument).view(), "67111556");
    EXPECT_EQ(seen_.quotes[0].bid_price, price_from<10'000>(50'000));
    EXPECT_EQ(seen_.quotes[0].bid_size, 144U);
    EXPECT_EQ(seen_.quotes[0].exchange_utc_ns, 1'476'819'540'000'068'463);
    EXPECT_EQ(seen_.quotes[0].feed_sequence, 24'364'477U);
    MiaxTomDecoder later{table_, {}};
    const auto with_trade = from_hex(
        "bcc5730100000000 1100 03 01 31547a0658"
        "bdc5730100000000 2800 03 01 54dc093235 69080004 db0a4004 00 00000000 00 dc050000 08000000 52");
    EXPECT_TRUE(later.decode(with_trade, {}, seen_).ok());
    ASSERT_EQ(seen_.trades.size(), 1U);
    const auto& trade = seen_.trades[0];
    EXPECT_EQ(table_.symbol(trade.instrument).view(), "67111017");
    EXPECT_EQ(table_.venue(trade.instrument).view(), "XMIO");
    EXPECT_EQ(trade.trade_id, 71305947U);
    EXPECT_EQ(trade.price, price_from<10'000>(1500));
    EXPECT_EQ(trade.size, 8U);
    EXPECT_EQ(trade.exchange_utc_ns, kSeconds * 1'000'000'000LL + 892'471'772);
}

// Source of the layout: the ToM specification 1.9 as described by the Open Markets Initiative.
TEST_F(MiaxTom, ACancelledTradeBreaksIt) {
    const auto cancel = from_hex(
        "bcc5730100000000 1100 03 01 31547a0658"
        "bdc5730100000000 2300 03 01 58dc093235 69080004 db0a4004 00 dc050000 08000000 41");
    EXPECT_TRUE(feed(cancel).ok());
    ASSERT_EQ(seen_.trade_breaks.size(), 1U);
    const auto& broken = seen_.trade_breaks[0];
    EXPECT_EQ(table_.symbol(broken.instrument).view(), "67111017");
    EXPECT_EQ(broken.trade_id, 71305947U);
    EXPECT_EQ(broken.exchange_utc_ns, kSeconds * 1'000'000'000LL + 892'471'772);
    EXPECT_EQ(broken.feed_sequence, 24'364'477U);
    EXPECT_EQ(broken.channel, 7U);
    EXPECT_TRUE(seen_.trades.empty());
    EXPECT_EQ(decoder_.counters().ignored.read(), 0U);

    const auto cut = from_hex("bec5730100000000 2200 03 01 58dc093235 69080004 db0a4004 00 dc050000 08000000");
    EXPECT_TRUE(feed(cut).ok());
    EXPECT_EQ(decoder_.counters().rejected.read(), 1U);
    EXPECT_EQ(seen_.trade_breaks.size(), 1U);
}

TEST_F(MiaxTom, OneSidedMessagesBecomeTwoSidedQuotes) {
    feed_written([](auto& to) { ASSERT_TRUE(to.system_time(kSeconds)); });
    bid(42, 79'000, 32);
    ASSERT_EQ(seen_.quotes.size(), 1U);
    EXPECT_TRUE(last_is_incomplete());
    EXPECT_EQ(seen_.quotes[0].ask_size, 0U);
    offer(42, 84'000, 406);
    const auto& quote = seen_.quotes.at(1);
    EXPECT_FALSE(last_is_incomplete());
    EXPECT_EQ(table_.symbol(quote.instrument).view(), "42");
    EXPECT_EQ(quote.bid_price, price_from<10'000>(79'000));
    EXPECT_EQ(quote.bid_size, 32U);
    EXPECT_EQ(quote.ask_price, price_from<10'000>(84'000));
    EXPECT_EQ(quote.ask_size, 406U);
    EXPECT_EQ(quote.exchange_utc_ns, kSeconds * 1'000'000'000LL + 7);
    EXPECT_EQ(quote.feed_sequence, 102U);
    EXPECT_EQ(quote.channel, 7U);
}

TEST_F(MiaxTom, TheConditionsOfBothSidesMakeTheQuoteHaltedOrNotFirm) {
    const auto side = [&](bool is_bid, char condition) {
        auto bytes =
            datagram([&](auto& to) { ASSERT_TRUE(is_bid ? to.bid(1, 7, 1'0000, 10) : to.offer(1, 7, 1'0100, 10)); });
        bytes.back() = std::byte(condition);
        EXPECT_TRUE(feed(bytes).ok());
        return seen_.quotes.back().flags;
    };
    (void)side(true, 'A');
    EXPECT_EQ(side(false, 'A'), 0);
    EXPECT_EQ(side(true, 'C'), kNotFirm);
    EXPECT_EQ(side(false, 'B'), kNotFirm) << "the other side is still not firm";
    EXPECT_EQ(side(false, 'T'), kNotFirm | kHalted);
    EXPECT_EQ(side(true, 'A'), kHalted);
    EXPECT_EQ(side(false, 'A'), 0);
    (void)side(true, 'C');
    encoder_ = MiaxTomEncoder{{.session = 2, .first_sequence = 1}};
    (void)side(false, 'A');
    EXPECT_EQ(side(false, 'A'), kIncomplete) << "a new session forgets the conditions of the old one";
}

TEST_F(MiaxTom, WideAndTwoSidedFormsCarryWhatTheNarrowOnesCannot) {
    bid(1, 6'553'600, 10);  // 655.36 does not fit 16 bits of cents
    EXPECT_EQ(seen_.quotes.back().bid_price, price_from<10'000>(6'553'600));
    offer(1, 7'000'001, 100'000);
    EXPECT_EQ(seen_.quotes.back().ask_price, price_from<10'000>(7'000'001));
    EXPECT_EQ(seen_.quotes.back().ask_size, 100'000U);
    for (const auto price : {price_from<10'000>(12'300), price_from<10'000>(12'345)}) {
        Quote both;
        both.bid_price = price;
        both.ask_price = price + price_from<100>(1);
        both.bid_size = 5;
        both.ask_size = 6;
        feed_written([&](auto& to) { ASSERT_TRUE(to.quote(2, 9, both)); });
        EXPECT_EQ(seen_.quotes.back().bid_price, price);
        EXPECT_EQ(seen_.quotes.back().ask_price, price + price_from<100>(1));
        EXPECT_EQ(seen_.quotes.back().bid_size, 5U);
        EXPECT_EQ(seen_.quotes.back().ask_size, 6U);
        EXPECT_FALSE(last_is_incomplete());
    }
}

TEST_F(MiaxTom, AfterAGapAQuoteIsIncompleteUntilBothItsSidesHaveComeAgain) {
    bid(1, 10'000);
    offer(1, 20'000);
    EXPECT_FALSE(last_is_incomplete());
    (void)datagram([](auto& to) { (void)to.bid(9, 0, 100, 1); });  // lost
    bid(1, 11'000);
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 102U);
    EXPECT_EQ(seen_.gaps[0].last, 102U);
    EXPECT_TRUE(last_is_incomplete());
    EXPECT_EQ(seen_.quotes.back().ask_price, price_from<10'000>(20'000));  // the old price, which may be wrong
    offer(1, 21'000);
    EXPECT_FALSE(last_is_incomplete());
}

TEST_F(MiaxTom, AHeartbeatShowsLossesAfterTheLastMessage) {
    bid(1, 10'000);
    feed_written([](auto& to) { ASSERT_TRUE(to.heartbeat()); });
    EXPECT_TRUE(seen_.gaps.empty());
    EXPECT_EQ(decoder_.counters().agreed.read(), 1U);
    (void)datagram([](auto& to) { (void)to.bid(9, 0, 100, 1); });  // lost
    feed_written([](auto& to) { ASSERT_TRUE(to.heartbeat()); });
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 101U);
    EXPECT_EQ(decoder_.counters().heartbeats.read(), 2U);
}

TEST_F(MiaxTom, ANewSessionEmptiesAllSides) {
    bid(1, 10'000);
    offer(1, 20'000);
    encoder_ = MiaxTomEncoder{{.session = 2, .first_sequence = 1}};
    bid(1, 12'000);
    bid(1, 11'000);
    ASSERT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.quotes.back().bid_price, price_from<10'000>(11'000));
    EXPECT_EQ(seen_.quotes.back().ask_size, 0U);
    EXPECT_TRUE(last_is_incomplete());
    EXPECT_TRUE(seen_.gaps.empty());
}

TEST_F(MiaxTom, ASystemTimeOfTheDayCountsFromTheGivenMidnight) {
    feed_written([](auto& to) { ASSERT_TRUE(to.system_time(34'200)); });
    bid(1, 10'000);
    EXPECT_EQ(seen_.quotes.back().exchange_utc_ns, 0);  // without midnight there is no time
    constexpr std::int64_t kMidnight = 1'476'763'200'000'000'000;
    decoder_.set_midnight(kMidnight);
    feed_written([](auto& to) { ASSERT_TRUE(to.system_time(34'200)); });
    bid(1, 10'000);
    EXPECT_EQ(seen_.quotes.back().exchange_utc_ns, kMidnight + 34'200'000'000'007);
}

TEST_F(MiaxTom, ExchangeTimesAreUnknownBetweenAGapAndTheNextSystemTime) {
    feed_written([](auto& to) { ASSERT_TRUE(to.system_time(kSeconds)); });
    (void)datagram([](auto& to) { (void)to.system_time(kSeconds + 1); });  // lost
    bid(1, 10'000);
    EXPECT_EQ(seen_.quotes.back().exchange_utc_ns, 0);
    feed_written([](auto& to) { ASSERT_TRUE(to.system_time(kSeconds + 2)); });
    bid(1, 10'000);
    EXPECT_EQ(seen_.quotes.back().exchange_utc_ns, (kSeconds + 2) * 1'000'000'000LL + 7);
}

TEST_F(MiaxTom, UnknownTypesAreSkippedByLengthAndWrongLengthsRejected) {
    auto bytes = datagram([](auto& to) {
        (void)to.bid(1, 7, price_from<10'000>(10'000), 1);
        (void)to.bid(2, 7, price_from<10'000>(10'000), 1);
        (void)to.bid(3, 7, price_from<10'000>(10'000), 1);
    });
    bytes[12] = std::byte{'?'};
    bytes[28 + 12] = std::byte{'T'};
    EXPECT_TRUE(feed(bytes).ok());
    EXPECT_EQ(seen_.quotes.size(), 1U);
    EXPECT_EQ(decoder_.counters().unknown.read(), 1U);
    EXPECT_EQ(decoder_.counters().rejected.read(), 1U);
    EXPECT_EQ(decoder_.counters().messages.read(), 3U);
}

TEST_F(MiaxTom, AMessageThatCannotBeReadIsAGapUntilBothSidesOfAQuoteHaveComeAgain) {
    for (const std::size_t what : {12U, 2U}) {  // its type, its length
        bid(1, 10'000);
        offer(1, 10'100);
        bid(2, 20'000);
        offer(2, 20'100);
        EXPECT_FALSE(last_is_incomplete());
        auto bytes = datagram([](auto& to) { ASSERT_TRUE(to.bid(1, 7, 10'050, 1)); });
        if (what == 12U) {
            bytes[12] = std::byte{'?'};
        } else {
            bytes[12] = std::byte{'D'};
        }
        const auto gaps = seen_.gaps.size();
        EXPECT_TRUE(feed(bytes).ok());
        ASSERT_EQ(seen_.gaps.size(), gaps + 1);
        EXPECT_EQ(seen_.gaps.back().reason, GapReason::rejected);
        EXPECT_EQ(seen_.gaps.back().first, seen_.gaps.back().last);
        EXPECT_EQ(seen_.gaps.back().channel, 7U);
        EXPECT_TRUE(feed(datagram([&](auto& to) { (void)to.bid(2, 7, 20'050, 1); })).ok());
        EXPECT_TRUE(last_is_incomplete());
        offer(2, 20'150);
        EXPECT_FALSE(last_is_incomplete());
        offer(1, 10'150);
        EXPECT_TRUE(last_is_incomplete());
        bid(1, 10'000);
        EXPECT_FALSE(last_is_incomplete());
    }
}

TEST_F(MiaxTom, ConsecutiveLostMessagesAreOneGap) {
    bid(1, 10'000);
    offer(1, 10'100);
    auto bytes = datagram([](auto& to) {
        for (int i = 0; i < 5; ++i) ASSERT_TRUE(to.bid(1, 7, price_from<10'000>(10'000), 1));
    });
    for (std::size_t i = 0; i < 5; ++i) bytes[28 * i + 12] = std::byte{'?'};
    feed(bytes);
    EXPECT_EQ(decoder_.counters().unknown.read(), 5U);
    EXPECT_EQ(seen_.gaps.size(), 1U);
    bid(1, 10'000);
    EXPECT_TRUE(last_is_incomplete());
}

TEST_F(MiaxTom, ADatagramThatIsNotWholeNeverBeginsASession) {
    bid(1, 10'000);
    encoder_ = MiaxTomEncoder{{.session = 2, .first_sequence = 1}};
    const auto bytes = datagram([](auto& to) {
        (void)to.bid(1, 7, price_from<10'000>(20'000), 1);
        (void)to.bid(2, 7, price_from<10'000>(20'000), 1);
    });
    EXPECT_FALSE(feed(std::span{bytes}.first(bytes.size() - 1)).ok());
    EXPECT_TRUE(seen_.clears.empty());
    EXPECT_EQ(seen_.quotes.size(), 1U);
    EXPECT_TRUE(feed(bytes).ok());
    EXPECT_FALSE(feed(std::span{bytes}.first(bytes.size() - 1)).ok()) << "nor does it confirm one";
    EXPECT_EQ(seen_.quotes.size(), 1U);
    bid(1, 20'000);
    EXPECT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.quotes.size(), 4U);
}

TEST_F(MiaxTom, ATruncatedDatagramGivesItsCompleteMessagesAndTheRestIsMissing) {
    bid(3, 10'000);
    const auto bytes = datagram([](auto& to) {
        (void)to.bid(1, 7, price_from<10'000>(10'000), 1);
        (void)to.bid(2, 7, price_from<10'000>(10'000), 1);
    });
    const auto result = feed(std::span{bytes}.first(50));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error->kind, DecodeErrorKind::truncated);
    EXPECT_EQ(result.error->offset, 28U + 8);
    EXPECT_EQ(result.error->found, 22U);
    EXPECT_EQ(result.error->bound, 28U);
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(decoder_.counters().dropped_bytes.read(), 22U);
    bid(3, 10'000);
    EXPECT_EQ(seen_.gaps.size(), 1U);
}

TEST_F(MiaxTom, AFullTableRefusesNewProductsAndServesTheOthers) {
    InstrumentTable table{1};
    MiaxTomDecoder decoder{table, {}};
    const auto bytes = datagram([](auto& to) {
        for (const std::uint32_t product : {1U, 2U, 1U}) (void)to.bid(product, 7, price_from<10'000>(10'000), 1);
    });
    decoder.decode(bytes, {}, seen_);
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(decoder.counters().refused.read(), 1U);
    EXPECT_EQ(table.refused().read(), 1U);
}

TEST_F(MiaxTom, AProductIsCalledByItsNameWhereThereIsOne) {
    InstrumentTable table{4};
    MiaxTomDecoder decoder{table, {.venue = Venue{"MIAX"}, .names = ProductNames::parse("1,AAPL 161118C00110000")}};
    decoder.decode(datagram([](auto& to) { (void)to.bid(1, 7, price_from<10'000>(10'000), 1); }), {}, seen_);
    EXPECT_EQ(table.symbol(0).view(), "AAPL 161118C00110000");
    EXPECT_EQ(table.venue(0).view(), "MIAX");
}

TEST_F(MiaxTom, ManyMessagesInDuplicatedDatagramsAreNotARestart) {
    for (int i = 0; i < 5; ++i) {
        const auto bytes = datagram([](auto& to) {
            for (std::uint32_t product = 1; product <= 40; ++product)
                (void)to.bid(product, 7, price_from<10'000>(10'000), 1);
        });
        feed(bytes);
        feed(bytes);
        feed(bytes);
    }
    EXPECT_EQ(decoder_.sequence().counters().duplicates.read(), 5U * 80);
    EXPECT_EQ(decoder_.sequence().counters().restarts.read(), 0U);
    EXPECT_TRUE(seen_.clears.empty());
}

TEST_F(MiaxTom, ALoopedReplayIsHeardAgain) {
    std::vector<std::vector<std::byte>> loop;
    for (int i = 0; i < 100; ++i) {
        loop.push_back(datagram([](auto& to) {
            for (std::uint32_t product = 1; product <= 30; ++product)
                (void)to.bid(product, 7, price_from<10'000>(10'000), 1);
        }));
    }
    for (const auto& bytes : loop) feed(bytes);
    EXPECT_EQ(seen_.quotes.size(), 3'000U);
    for (const auto& bytes : loop) feed(bytes);
    EXPECT_EQ(seen_.quotes.size(), 6'000U - MiaxTomDecoder::kRestartAfter);
    EXPECT_EQ(seen_.clears.size(), 1U);
}

class RealMiaxTom : public testing::Test {
protected:
    void SetUp() override {
        const auto file = real_file("Miax.Tom.Mach.v1.9.Example.pcap");
        if (file.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA names no folder with the capture";
        capture_ = captured_datagrams(file);
    }
    void play(MiaxTomDecoder& decoder) {
        for (const auto& [utc_ns, bytes] : capture_) {
            const ExactCopy exact{bytes};
            ASSERT_TRUE(decoder.decode(exact.span(), {.receive_utc_ns = utc_ns}, seen_).ok());
        }
    }
    std::vector<CapturedDatagram> capture_;
    InstrumentTable table_{8192};
    Recorder seen_;
};

TEST_F(RealMiaxTom, EveryMessageOfTheCaptureIsDecodedAndAccountedFor) {
    ASSERT_EQ(capture_.size(), 20'560U);
    MiaxTomDecoder decoder{table_, {}};
    play(decoder);
    const auto& counters = decoder.counters();
    EXPECT_EQ(counters.messages.read(), 50'892U);
    EXPECT_EQ(counters.applied.read(), 50'892U);
    EXPECT_EQ(counters.heartbeats.read(), 60U);
    EXPECT_EQ(seen_.quotes.size(), 25'905U + 24'912U);
    EXPECT_EQ(seen_.trades.size(), 15U);
    EXPECT_EQ(counters.applied.read() - seen_.quotes.size() - seen_.trades.size(), 60U);  // system times
    EXPECT_EQ(seen_.gaps.size(), 0U);
    EXPECT_EQ(seen_.clears.size(), 0U);
    std::set<InstrumentId> products;
    for (const auto& quote : seen_.quotes) products.insert(quote.instrument);
    EXPECT_EQ(products.size(), 4'773U);
    // Every exchange time is within a second of the capture's own.
    for (const auto& quote : seen_.quotes) {
        ASSERT_LT(std::abs(quote.exchange_utc_ns - quote.receive_utc_ns), 1'000'000'000);
    }
}

TEST_F(RealMiaxTom, TheSidesAgreeWithAPlainReadingOfTheBytes) {
    MiaxTomDecoder decoder{table_, {}};
    play(decoder);
    struct Sides {
        Price price[2]{};
        std::uint64_t size[2]{};
        bool seen[2]{};
    };
    std::map<std::uint32_t, Sides> products;
    std::size_t bids = 0;
    std::size_t next = 0;
    for (const auto& [utc_ns, bytes] : capture_) {
        for (std::size_t place = 0; place < bytes.size();) {
            const auto* const packet = bytes.data() + place;
            place += core::load_le<std::uint16_t>(packet + 8);
            const char type =
                place - (static_cast<std::size_t>(packet - bytes.data())) > 12 ? static_cast<char>(packet[12]) : '\0';
            if (type != 'B' && type != 'O') continue;
            const int side = type == 'B' ? 0 : 1;
            bids += type == 'B' ? 1 : 0;
            auto& sides = products[core::load_le<std::uint32_t>(packet + 17)];
            sides.price[side] = price_from<100>(core::load_le<std::uint16_t>(packet + 21));
            sides.size[side] = core::load_le<std::uint16_t>(packet + 23);
            sides.seen[side] = true;
            const auto& quote = seen_.quotes.at(next++);
            ASSERT_EQ(quote.bid_price, sides.price[0]);
            ASSERT_EQ(quote.ask_price, sides.price[1]);
            ASSERT_EQ(quote.bid_size, sides.size[0]);
            ASSERT_EQ(quote.ask_size, sides.size[1]);
            ASSERT_EQ((quote.flags & kIncomplete) == 0, sides.seen[0] && sides.seen[1]);
            ASSERT_EQ(quote.feed_sequence, core::load_le<std::uint64_t>(packet));
        }
    }
    EXPECT_EQ(next, seen_.quotes.size());
    EXPECT_EQ(bids, 25'905U);
}

// Errors added to a copy of the capture: every 500th datagram dropped, every 700th duplicated, every 900th swapped with
// the next one. The expected counts follow from the message numbers of those datagrams.
TEST_F(RealMiaxTom, PlantedFaultsAreCountedExactly) {
    const auto data_messages = [&](const CapturedDatagram& datagram) {
        std::uint64_t count = 0;
        for (std::size_t place = 0; place < datagram.bytes.size();) {
            if (datagram.bytes[place + 10] == std::byte{3}) ++count;
            place += core::load_le<std::uint16_t>(datagram.bytes.data() + place + 8);
        }
        return count;
    };
    std::vector<const CapturedDatagram*> wire;
    std::uint64_t dropped = 0, gaps = 0, late = 0, duplicates = 0;
    for (std::size_t i = 0; i < capture_.size(); ++i) {
        const auto count = data_messages(capture_[i]);
        const bool alone = i > 0 && i + 2 < capture_.size() && count > 0 && data_messages(capture_[i + 1]) > 0;
        if (i % 500 == 17 && alone) {
            dropped += count;
            ++gaps;
        } else if (i % 700 == 123 && alone) {
            duplicates += count;
            wire.push_back(&capture_[i]);
            wire.push_back(&capture_[i]);
        } else if (i % 900 == 456 && alone) {
            late += count;
            ++gaps;
            wire.push_back(&capture_[i + 1]);
            wire.push_back(&capture_[i]);
            ++i;
        } else {
            wire.push_back(&capture_[i]);
        }
    }
    ASSERT_GT(dropped, 0U);
    ASSERT_GT(late, 0U);
    ASSERT_GT(duplicates, 0U);
    MiaxTomDecoder decoder{table_, {}};
    for (const auto* each : wire) ASSERT_TRUE(decoder.decode(each->bytes, {}, seen_).ok());
    const auto& sequence = decoder.sequence().counters();
    EXPECT_EQ(sequence.gaps.read(), gaps);
    EXPECT_EQ(seen_.gaps.size(), gaps);
    EXPECT_EQ(sequence.missing.read(), dropped + late);
    EXPECT_EQ(sequence.late.read(), late);
    EXPECT_EQ(sequence.duplicates.read(), duplicates);
    EXPECT_EQ(sequence.unresolved.read(), 0U);
    EXPECT_EQ(sequence.restarts.read(), 0U);
    EXPECT_EQ(decoder.counters().stale.read(), late + duplicates);
    EXPECT_EQ(decoder.counters().applied.read(), 50'892U - dropped - late);
}

}  // namespace
}  // namespace millpond::feed
