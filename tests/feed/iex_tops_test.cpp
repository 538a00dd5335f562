#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_encoder.hpp>
#include <millpond/feed/iex_tops.hpp>

#include "tests/feed/real_data.hpp"
#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

using Bytes = std::vector<std::byte>;

/// Recorder with the events that are optional.
struct Announced : Recorder {
    using Recorder::on;
    std::vector<Imbalance> imbalances;
    std::vector<Band> bands;
    std::vector<Definition> definitions;

    void on(const Imbalance& event) { imbalances.push_back(event); }
    void on(const Band& event) { bands.push_back(event); }
    void on(const Definition& event) { definitions.push_back(event); }
};

class IexTopsTest : public testing::Test {
protected:
    static constexpr Arrival kArrival{.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7};

    DecodeResult receive(std::span<const std::byte> bytes) {
        const ExactCopy copy{bytes};
        return decoder_.decode(copy.span(), kArrival, seen_);
    }
    /// Receives messages as one datagram, from the number `first` on, or following the last one.
    DecodeResult send(const std::vector<Bytes>& messages, std::uint64_t first = 0, std::uint32_t session = 1,
                      std::uint32_t channel = 1) {
        if (first == 0) first = next_;
        IexEncoder encoder{{.session = {.number = session, .channel = channel}, .first_sequence = first}};
        std::array<std::byte, 1'472> buffer;
        encoder.begin(buffer);
        for (const auto& message : messages) EXPECT_TRUE(encoder.add(message));
        next_ = encoder.next_sequence();
        return receive(encoder.finish(9));
    }
    static Bytes kept(IexMessageWriter::Bytes bytes) { return {bytes.begin(), bytes.end()}; }
    Bytes quote(std::string_view symbol, std::int64_t bid = 990'500, std::uint8_t flags = 0) {
        return kept(writer_.quote(symbol, 100, bid, bid + 200, 200, flags));
    }
    [[nodiscard]] std::string_view name(InstrumentId id) const { return instruments_.symbol(id).view(); }
    [[nodiscard]] const DecodeCounters& counters() const { return decoder_.counters(); }
    void expect_account() const {
        const auto& all = counters();
        EXPECT_EQ(all.messages.read(), all.applied.read() + all.ignored.read() + all.unknown.read() + all.stale.read() +
                                           all.refused.read() + all.rejected.read());
    }

    InstrumentTable instruments_{64};
    IexTopsDecoder decoder_{instruments_, {}};
    Announced seen_;
    IexMessageWriter writer_;
    std::uint64_t next_{1};
};

/// IEX Transport Protocol 1.26, page 10: the header of its first example, with another protocol and payload.
TEST_F(IexTopsTest, TheHeaderOfTheSpecificationIsRead) {
    auto bytes = from_hex(
        "01 00 03 80 01000000 00008742 2c00 0100 8ca6210000000000 cac3000000000000 ec45c22096866d14"
        "2a00 51 00 ac63c02096866d14 5a49455854202020 e4250000 241d0f0000000000 ec1d0f0000000000 e8030000");
    EXPECT_TRUE(receive(bytes).ok());
    ASSERT_EQ(seen_.quotes.size(), 1U);
    EXPECT_EQ(seen_.quotes[0].feed_sequence, 50'122U);
    EXPECT_EQ(decoder_.session(), (IexSession{.number = 0x4287'0000, .channel = 1}));
    EXPECT_EQ(decoder_.sequence().next(), 50'123U);
}

/// The examples of IEX TOPS 1.66, on the pages that the comments name.
TEST_F(IexTopsTest, EachExampleOfTheSpecificationBecomesItsEvent) {
    const std::vector<Bytes> examples{
        from_hex("53 45 00a09997e93db614"),                                                // page 7
        from_hex("44 80 0020897b5a1fb614 5a49455854202020 64000000 241d0f0000000000 01"),  // page 9
        from_hex("48 48 ac63c02096866d14 5a49455854202020 54312020"),                      // page 11
        from_hex("49 41 ac63c02096866d14 5a49455854202020"),                               // page 12
        from_hex("4f 4f ac63c02096866d14 5a49455854202020"),                               // page 13
        from_hex("50 01 ac63c02096866d14 5a49455854202020 41"),                            // page 15
        from_hex("51 00 ac63c02096866d14 5a49455854202020 e4250000 241d0f0000000000 ec1d0f0000000000"
                 "e8030000"),                                                                            // page 17
        from_hex("54 00 c3dff705a2866d14 5a49455854202020 64000000 241d0f0000000000 968f060000000000"),  // page 19
        from_hex("58 51 00f0302a5b25b614 5a49455854202020 241d0f0000000000"),                            // page 20
        from_hex("42 00 b28fa5a0ab866d14 5a49455854202020 64000000 241d0f0000000000 968f060000000000"),  // page 22
        from_hex("41 43 ddc7f09a1a3ab614 5a49455854202020 a0860100 241d0f0000000000 181f0f0000000000"
                 "10270000 42 00 80e6f458 0c210f0000000000 c01c0f0000000000 a4990d0000000000"
                 "dc9f100000000000"),  // pages 24 and 25
    };
    const auto result = send(examples);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.messages, examples.size());

    ASSERT_EQ(seen_.statuses.size(), 3U);
    EXPECT_EQ(seen_.statuses[0].state, TradingState::end_of_system_hours);
    EXPECT_EQ(seen_.statuses[0].instrument, kNoInstrument);
    EXPECT_EQ(seen_.statuses[0].exchange_utc_ns, 1'492'448'400'000'000'000);  // 2017-04-17 17:00 UTC
    EXPECT_EQ(seen_.statuses[1].state, TradingState::halted);
    EXPECT_EQ(seen_.statuses[1].reason.view(), "T1");
    EXPECT_EQ(name(seen_.statuses[1].instrument), "ZIEXT");
    EXPECT_EQ(seen_.statuses[1].exchange_utc_ns, 1'471'980'632'572'715'948);
    EXPECT_EQ(seen_.statuses[2].state, TradingState::halted);  // of all markets, before the one here
    ASSERT_EQ(seen_.definitions.size(), 1U);
    EXPECT_EQ(seen_.definitions[0].lot, 100U);
    EXPECT_EQ(seen_.definitions[0].instrument_class, InstrumentClass::unknown);
    ASSERT_EQ(seen_.bands.size(), 2U);
    EXPECT_EQ(seen_.bands[0].band, BandKind::short_sale);
    EXPECT_EQ(seen_.bands[0].short_sale, ShortSale::restricted_now);
    EXPECT_EQ(seen_.bands[1].band, BandKind::collar);
    EXPECT_EQ(seen_.bands[1].reference_price, 99'040'000'000);
    EXPECT_EQ(seen_.bands[1].lower_price, 89'130'000'000);
    EXPECT_EQ(seen_.bands[1].upper_price, 108'950'000'000);
    ASSERT_EQ(seen_.quotes.size(), 1U);
    EXPECT_EQ(seen_.quotes[0].bid_price, 99'050'000'000);
    EXPECT_EQ(seen_.quotes[0].bid_size, 9'700U);
    EXPECT_EQ(seen_.quotes[0].ask_price, 99'070'000'000);
    EXPECT_EQ(seen_.quotes[0].ask_size, 1'000U);
    EXPECT_EQ(seen_.quotes[0].flags, kHalted);
    EXPECT_EQ(seen_.quotes[0].receive_utc_ns, 5);
    EXPECT_EQ(seen_.quotes[0].channel, 7);
    ASSERT_EQ(seen_.trades.size(), 1U);
    EXPECT_EQ(seen_.trades[0].price, 99'050'000'000);
    EXPECT_EQ(seen_.trades[0].size, 100U);
    EXPECT_EQ(seen_.trades[0].trade_id, 429'974U);
    EXPECT_EQ(seen_.trades[0].flags, 0);
    EXPECT_EQ(seen_.trades[0].exchange_utc_ns, 1'471'980'683'662'974'915);
    ASSERT_EQ(seen_.trade_breaks.size(), 1U);
    EXPECT_EQ(seen_.trade_breaks[0].trade_id, 429'974U);
    ASSERT_EQ(seen_.imbalances.size(), 1U);
    EXPECT_EQ(seen_.imbalances[0].auction, AuctionKind::closing);
    EXPECT_EQ(seen_.imbalances[0].side, Side::bid);
    EXPECT_EQ(seen_.imbalances[0].paired_size, 100'000U);
    EXPECT_EQ(seen_.imbalances[0].imbalance_size, 10'000U);
    EXPECT_EQ(seen_.imbalances[0].reference_price, 99'050'000'000);
    EXPECT_EQ(seen_.imbalances[0].near_price, 99'100'000'000);
    EXPECT_EQ(seen_.imbalances[0].far_price, 99'150'000'000);
    EXPECT_EQ(counters().ignored.read(), 2U);  // I and X
    EXPECT_EQ(counters().applied.read(), examples.size() - 2);
    EXPECT_TRUE(seen_.gaps.empty());
    expect_account();
}

/// IEX DEEP 1.08, page 16; TOPS has no such message in version 1.66.
TEST_F(IexTopsTest, ASecurityEventKeepsTheState) {
    send({kept(writer_.trading_status("ZIEXT", 'H', "T1")), from_hex("45 4f 00f0302a5b25b614 5a49455854202020")});
    ASSERT_EQ(seen_.statuses.size(), 2U);
    EXPECT_EQ(seen_.statuses[1].state, TradingState::halted);
    EXPECT_EQ(seen_.statuses[1].reason.view(), "O");
}

TEST_F(IexTopsTest, LongerMessagesAreReadAndUnknownTypesAreCounted) {
    auto longer = quote("AAPL");
    longer.push_back(std::byte{1});
    auto longer_trade = kept(writer_.trade("AAPL", 100, 990'500, 8));
    longer_trade.resize(90);
    const auto result = send({longer, from_hex("7a 00"), {}, longer_trade, quote("MSFT")});
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(seen_.trades.size(), 1U);
    EXPECT_EQ(counters().unknown.read(), 2U);
    EXPECT_EQ(counters().rejected.read(), 0U);
    EXPECT_TRUE(seen_.gaps.empty());
    expect_account();
}

TEST_F(IexTopsTest, AQuoteThatCannotBeReadIsAGapOnce) {
    auto shorter = quote("AAPL");
    shorter.pop_back();
    auto nameless = quote(" ");
    auto far = quote("AAPL", 9'223'372'036'854'775);
    send({quote("AAPL"), shorter, nameless, far, quote("AAPL"), far});
    EXPECT_EQ(seen_.quotes.size(), 2U);
    ASSERT_EQ(seen_.gaps.size(), 2U);
    EXPECT_EQ(seen_.gaps[0].reason, GapReason::rejected);
    EXPECT_EQ(seen_.gaps[0].first, 2U);
    EXPECT_EQ(seen_.gaps[1].first, 6U);
    EXPECT_EQ(counters().rejected.read(), 4U);
    expect_account();
}

TEST_F(IexTopsTest, NegativeAndLargePricesAreExact) {
    send({quote("AAPL", -5), quote("BRKA", 7'123'450'000)});
    EXPECT_EQ(seen_.quotes.at(0).bid_price, -500'000);
    EXPECT_EQ(seen_.quotes.at(1).bid_price, 712'345'000'000'000);
}

TEST_F(IexTopsTest, ASideWithoutSharesHasNoPrice) {
    send({kept(writer_.quote("AAPL", 0, 5, 7, 0))});
    EXPECT_EQ(seen_.quotes.at(0).bid_price, 0);
    EXPECT_EQ(seen_.quotes.at(0).ask_price, 0);
}

TEST_F(IexTopsTest, AHaltAndItsEndPublishTheQuoteAgain) {
    send({quote("AAPL"), kept(writer_.coded('O', 'O', "AAPL")), kept(writer_.coded('O', 'N', "AAPL"))});
    ASSERT_EQ(seen_.quotes.size(), 3U);
    EXPECT_EQ(seen_.quotes[1].flags, kHalted);
    EXPECT_EQ(seen_.quotes[1].bid_price, seen_.quotes[0].bid_price);
    EXPECT_EQ(seen_.quotes[1].feed_sequence, 2U);
    EXPECT_EQ(seen_.quotes[2].flags, 0);
    EXPECT_EQ(seen_.statuses.at(0).state, TradingState::operational_halt);
    EXPECT_EQ(seen_.statuses.at(1).state, TradingState::trading);
    // The quote itself says that it is halted.
    send({quote("AAPL", 990'500, 0x80), kept(writer_.trading_status("AAPL", 'T'))});
    EXPECT_EQ(seen_.quotes.size(), 4U);
    EXPECT_EQ(seen_.quotes[3].flags, kHalted);
}

TEST_F(IexTopsTest, NoQuoteOfBeforeAGapIsPublishedAgain) {
    send({quote("AAPL"), kept(writer_.coded('O', 'O', "MSFT")), quote("MSFT")});
    ASSERT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(seen_.quotes[1].flags, kHalted);
    send({kept(writer_.coded('O', 'O', "AAPL")), quote("MSFT")}, next_ + 1);
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 4U);
    // The end of the halt of MSFT may have been lost; its quote says that it trades.
    ASSERT_EQ(seen_.quotes.size(), 3U);
    EXPECT_EQ(name(seen_.quotes[2].instrument), "MSFT");
    EXPECT_EQ(seen_.quotes[2].flags, 0);
}

/// The end of the halt of MSFT may be among the lost messages.
TEST_F(IexTopsTest, AStatusAfterAGapDoesNotKeepAHaltOfBeforeTheGap) {
    send({quote("MSFT"), kept(writer_.coded('O', 'O', "MSFT"))});
    send({kept(writer_.trading_status("MSFT", 'T')), quote("MSFT")}, next_ + 1);
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.statuses.back().state, TradingState::trading);
    EXPECT_EQ(seen_.quotes.back().flags, 0);
}

TEST_F(IexTopsTest, ASecurityEventAfterAGapDoesNotRepeatAHaltOfBeforeTheGap) {
    send({kept(writer_.trading_status("MSFT", 'H', "T1"))});
    send({kept(writer_.coded('E', 'O', "MSFT"))}, next_ + 1);
    EXPECT_EQ(seen_.statuses.back().state, TradingState::unknown);
}

TEST_F(IexTopsTest, AnOperationalHaltAfterAGapDoesNotKeepAStatusOfBeforeTheGap) {
    send({kept(writer_.trading_status("MSFT", 'H', "T1"))});
    send({kept(writer_.coded('O', 'N', "MSFT")), quote("MSFT")}, next_ + 1);
    EXPECT_EQ(seen_.statuses.back().state, TradingState::trading);
    EXPECT_EQ(seen_.quotes.back().flags, 0);
}

TEST_F(IexTopsTest, HeartbeatsShowLossesAndAgreement) {
    send({quote("AAPL")});
    send({});
    EXPECT_EQ(counters().heartbeats.read(), 1U);
    EXPECT_EQ(counters().agreed.read(), 1U);
    send({}, 5);
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 2U);
    EXPECT_EQ(seen_.gaps[0].last, 4U);
}

TEST_F(IexTopsTest, OldMessagesOfADatagramAreSkipped) {
    send({quote("A"), quote("B"), quote("C")});
    send({quote("B"), quote("C"), quote("D")}, 2);
    EXPECT_EQ(seen_.quotes.size(), 4U);
    EXPECT_EQ(counters().stale.read(), 2U);
    expect_account();
}

TEST_F(IexTopsTest, ANewSessionBeginsWithMessageOne) {
    send({quote("A"), kept(writer_.coded('O', 'O', "A"))});
    send({quote("B")}, 3, 2);
    EXPECT_TRUE(seen_.clears.empty());
    send({quote("C")}, 4, 2);
    ASSERT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.clears[0].reason, ClearReason::new_session);
    EXPECT_EQ(seen_.statuses.back().state, TradingState::unknown);
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 1U);
    EXPECT_EQ(seen_.gaps[0].last, 2U);
    EXPECT_EQ(name(seen_.quotes.back().instrument), "C");
    expect_account();
}

TEST_F(IexTopsTest, TheLastMessageEndsTheSession) {
    send({quote("A"), kept(writer_.system_event('C'))});
    ASSERT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.clears[0].reason, ClearReason::end_of_session);
    EXPECT_EQ(seen_.statuses.at(0).state, TradingState::end_of_messages);
    // A heartbeat of the next session is enough now, and its state begins anew.
    send({}, 1, 2);
    send({}, 1, 2);
    EXPECT_EQ(decoder_.session().number, 2U);
    EXPECT_EQ(seen_.statuses.back().state, TradingState::unknown);
}

TEST_F(IexTopsTest, OtherChannelsAndProtocolsAreNotApplied) {
    send({quote("A")});
    send({quote("B")}, 1, 1, 2);
    EXPECT_EQ(seen_.quotes.size(), 1U);
    EXPECT_EQ(decoder_.foreign(), 1U);
    IexEncoder deep{{.protocol = iex_layout::kDeep}};
    std::array<std::byte, 100> buffer;
    deep.begin(buffer);
    const auto result = receive(deep.finish(0));
    ASSERT_TRUE(result.error);
    EXPECT_EQ(result.error->kind, DecodeErrorKind::bad_magic);
    EXPECT_EQ(result.error->found, 0x8004U);
    EXPECT_EQ(result.error->bound, 0x8003U);
    expect_account();
}

TEST_F(IexTopsTest, ErrorsOfTheFramingNameTheirBound) {
    struct Fault {
        std::size_t at;
        std::uint8_t value;
        DecodeErrorKind kind;
        std::uint64_t bound;
    };
    for (const auto& fault :
         {Fault{iex_layout::kVersionAt, 2, DecodeErrorKind::bad_version, 1},
          Fault{iex_layout::kSequenceAt + 7, 0x80, DecodeErrorKind::bad_sequence, 0x7FFF'FFFF'FFFE'FFFF},
          Fault{iex_layout::kPayloadAt, 3, DecodeErrorKind::bad_length, 44},
          Fault{iex_layout::kCountAt, 2, DecodeErrorKind::truncated, 2},
          Fault{iex_layout::kCountAt, 0, DecodeErrorKind::oversized, 40},
          Fault{iex_layout::kHeaderBytes, 50, DecodeErrorKind::truncated, 50}}) {
        IexEncoder encoder{{}};
        std::array<std::byte, 100> buffer;
        encoder.begin(buffer);
        ASSERT_TRUE(encoder.add(quote("A")));
        const auto size = encoder.finish(0).size();
        buffer[fault.at] = static_cast<std::byte>(fault.value);
        InstrumentTable instruments{4};
        IexTopsDecoder decoder{instruments, {}};
        const ExactCopy copy{std::span{buffer}.first(size)};
        const auto result = decoder.decode(copy.span(), kArrival, seen_);
        ASSERT_TRUE(result.error) << fault.at;
        EXPECT_EQ(result.error->kind, fault.kind) << fault.at;
        EXPECT_EQ(result.error->bound, fault.bound) << fault.at;
    }
}

TEST_F(IexTopsTest, AFullTableRefusesFurtherInstruments) {
    InstrumentTable small{1};
    IexTopsDecoder decoder{small, {}};
    IexEncoder encoder{{}};
    std::array<std::byte, 300> buffer;
    encoder.begin(buffer);
    for (const auto* symbol : {"A", "B", "A"}) ASSERT_TRUE(encoder.add(quote(symbol)));
    decoder.decode(encoder.finish(0), kArrival, seen_);
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(decoder.counters().refused.read(), 1U);
}

/// Real packets of IEX, in the order of their numbers.
class RealIexTops : public IexTopsTest {
protected:
    void SetUp() override {
        if (real_file("iex/Tops.v1.5.QuoteUpdateMessage.pcap").empty())
            GTEST_SKIP() << "MILLPOND_TEST_DATA has no iex folder";
    }
    void play(const std::string& name) {
        const auto file = real_file("iex/Tops." + name + ".pcap");
        for (const auto& datagram : captured_datagrams(file)) {
            const auto result = receive(datagram.bytes);
            EXPECT_TRUE(result.ok()) << name;
        }
    }
};

TEST_F(RealIexTops, EachMessageTypeBecomesItsEvent) {
    play("v1.5.SecurityDirectoryMessage");
    EXPECT_EQ(seen_.definitions.size(), 2U);
    EXPECT_EQ(seen_.bands.size(), 13U);
    EXPECT_EQ(seen_.statuses.size(), 25U);
    EXPECT_EQ(seen_.quotes.size(), 12U);
    EXPECT_EQ(name(seen_.definitions[0].instrument), "ZEXIT");
    EXPECT_EQ(seen_.definitions[0].lot, 100U);
    EXPECT_EQ(seen_.quotes[0].bid_size, 0U);
    EXPECT_TRUE(seen_.gaps.empty());
    play("v1.5.OperationalHaltStatusMessage");
    EXPECT_EQ(seen_.statuses.size(), 28U);
    EXPECT_EQ(name(seen_.statuses[25].instrument), "ZYNE");
    play("v1.5.ShortSalePriceTestStatusMessage");
    EXPECT_EQ(seen_.bands.size(), 14U);
    EXPECT_EQ(name(seen_.bands.back().instrument), "AHL");
    EXPECT_EQ(seen_.bands.back().short_sale, ShortSale::restricted_now);
    play("v1.5.TradeReportMessage");
    ASSERT_EQ(seen_.trades.size(), 1U);
    play("v1.5.AuctionInformationMessage");
    ASSERT_EQ(seen_.imbalances.size(), 1U);
    EXPECT_EQ(name(seen_.imbalances[0].instrument), "ZIEXT");
    EXPECT_EQ(seen_.imbalances[0].imbalance_size, 251U);
    EXPECT_EQ(seen_.imbalances[0].side, Side::ask);
    EXPECT_EQ(seen_.imbalances[0].reference_price, 1'000'000'000);
    EXPECT_EQ(seen_.imbalances[0].far_price, 1'000'000'000);
    EXPECT_EQ(seen_.bands.size(), 14U);  // the auction has no collar
    play("v1.5.SystemEventMessage");
    EXPECT_EQ(seen_.statuses.back().state, TradingState::start_of_market_hours);
    play("v1.5.OfficialPriceMessage");
    play("v1.5.QuoteUpdateMessage");
    EXPECT_EQ(name(seen_.quotes.back().instrument), "ATSG");
    EXPECT_EQ(seen_.quotes.back().bid_price, 24'190'000'000);
    play("v1.5.TradingStatusMessage");
    play("v1.6.QuoteUpdateMessage");  // the same datagram as that of 1.5
    EXPECT_EQ(counters().stale.read(), 1U);
    EXPECT_EQ(counters().unknown.read(), 0U);
    EXPECT_EQ(counters().rejected.read(), 0U);
    expect_account();
}

}  // namespace
}  // namespace millpond::feed
