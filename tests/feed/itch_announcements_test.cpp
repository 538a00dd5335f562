// Imbalances, collars, short sale restrictions and directory entries of an ITCH channel.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_book_builder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

struct Announcements : Recorder {
    using Recorder::on;
    std::vector<Imbalance> imbalances;
    std::vector<Band> bands;
    std::vector<Definition> definitions;

    void on(const Imbalance& event) { imbalances.push_back(event); }
    void on(const Band& event) { bands.push_back(event); }
    void on(const Definition& event) { definitions.push_back(event); }
};

/// A message under construction, at 10:00 of the exchange's day.
class Message {
public:
    Message(char type, std::size_t bytes) : bytes_(bytes) {
        bytes_[0] = static_cast<std::byte>(type);
        put<std::uint16_t>(1, 7);
        itch_layout::store_time(bytes_.data(), std::int64_t{36'000} * 1'000'000'000);
    }
    template <std::integral Int>
    Message& put(std::size_t at, Int value) {
        core::store_be(bytes_.data() + at, value);
        return *this;
    }
    Message& put(std::size_t at, std::string_view text) {
        for (std::size_t i = 0; i < text.size(); ++i) bytes_[at + i] = static_cast<std::byte>(text[i]);
        return *this;
    }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

class ItchAnnouncements : public testing::Test {
protected:
    template <class Handler>
    void apply(const Message& message, Handler& handler) {
        builder_.apply(ExactCopy{message.bytes()}.span(), ++sequence_, {.receive_utc_ns = 5, .channel = 3}, handler);
    }
    void apply(const Message& message) { apply(message, seen_); }

    InstrumentTable instruments_{16};
    ItchBookBuilder builder_{instruments_, {.order_books = {.books = 16, .orders = 16, .level_chunks = 16}}};
    Announcements seen_;
    std::uint64_t sequence_{0};
};

Message imbalance(char direction, char cross) {
    return Message{'I', 50}
        .put<std::uint64_t>(11, 51'200)
        .put<std::uint64_t>(19, 700)
        .put(27, {&direction, 1})
        .put(28, "AAPL    ")
        .put<std::uint32_t>(36, 1'890'000)
        .put<std::uint32_t>(40, 1'892'600)
        .put<std::uint32_t>(44, 1'892'500)
        .put(48, {&cross, 1})
        .put(49, "L");
}

TEST_F(ItchAnnouncements, AnImbalanceHasTheSideSizesAndPricesOfItsAuction) {
    apply(imbalance('B', 'C'));
    ASSERT_EQ(seen_.imbalances.size(), 1U);
    const auto& event = seen_.imbalances.front();
    EXPECT_EQ(instruments_.symbol(event.instrument).view(), "AAPL");
    EXPECT_EQ(event.channel, 3U);
    EXPECT_EQ(event.auction, AuctionKind::closing);
    EXPECT_EQ(event.state, ImbalanceState::indicative);
    EXPECT_EQ(event.side, Side::bid);
    EXPECT_EQ(event.paired_size, 51'200U);
    EXPECT_EQ(event.imbalance_size, 700U);
    EXPECT_EQ(event.reference_price, 189'250'000'000);
    EXPECT_EQ(event.near_price, 189'260'000'000);
    EXPECT_EQ(event.far_price, 189'000'000'000);
    EXPECT_EQ(event.feed_sequence, 1U);
    EXPECT_EQ(builder_.counters().imbalances.read(), 1U);
    EXPECT_EQ(builder_.counters().applied.read(), 1U);
}

TEST_F(ItchAnnouncements, AnImbalanceSaysWhyItHasNoSide) {
    for (const char direction : {'S', 'N', 'O', 'P'}) apply(imbalance(direction, 'O'));
    ASSERT_EQ(seen_.imbalances.size(), 4U);
    EXPECT_EQ(seen_.imbalances[0].side, Side::ask);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(seen_.imbalances[i].side, Side::none);
    EXPECT_EQ(seen_.imbalances[1].state, ImbalanceState::indicative);
    EXPECT_EQ(seen_.imbalances[2].state, ImbalanceState::insufficient);
    EXPECT_EQ(seen_.imbalances[3].state, ImbalanceState::paused);
}

TEST_F(ItchAnnouncements, PricesThatTheVenueDoesNotHaveAreAbsent) {
    apply(imbalance('N', 'H').put<std::uint32_t>(36, 0).put<std::uint32_t>(40, 2'000'000'000));
    ASSERT_EQ(seen_.imbalances.size(), 1U);
    EXPECT_EQ(seen_.imbalances[0].auction, AuctionKind::resumption);
    EXPECT_EQ(seen_.imbalances[0].far_price, kNoPrice);
    EXPECT_EQ(seen_.imbalances[0].near_price, kNoPrice);
    EXPECT_EQ(seen_.imbalances[0].reference_price, 189'250'000'000);
}

TEST_F(ItchAnnouncements, AnUnknownCodeIsRejectedAndLeavesTheBookAsItIs) {
    apply(Message{'S', 12}.put(11, "O"));
    Message order{'A', 36};
    order.put<std::uint64_t>(11, 1).put(19, "B").put<std::uint32_t>(20, 100).put(24, "AAPL    ");
    apply(order.put<std::uint32_t>(32, 1'892'500));
    apply(imbalance('X', 'C'));
    apply(imbalance('B', 'X'));
    apply(Message{'Y', 20}.put(11, "AAPL    ").put(19, "3"));
    EXPECT_EQ(builder_.counters().rejected.read(), 3U);
    EXPECT_TRUE(seen_.imbalances.empty() && seen_.bands.empty());
    ASSERT_EQ(seen_.quotes.size(), 1U);
    EXPECT_EQ(seen_.quotes[0].flags & kIncomplete, 0);
}

TEST_F(ItchAnnouncements, ACollarHasItsRangeAndExtension) {
    apply(Message{'J', 35}
              .put(11, "AAPL    ")
              .put<std::uint32_t>(19, 1'892'500)
              .put<std::uint32_t>(23, 1'987'100)
              .put<std::uint32_t>(27, 1'797'900)
              .put<std::uint32_t>(31, 2));
    ASSERT_EQ(seen_.bands.size(), 1U);
    EXPECT_EQ(seen_.bands[0].band, BandKind::collar);
    EXPECT_EQ(seen_.bands[0].reference_price, 189'250'000'000);
    EXPECT_EQ(seen_.bands[0].upper_price, 198'710'000'000);
    EXPECT_EQ(seen_.bands[0].lower_price, 179'790'000'000);
    EXPECT_EQ(seen_.bands[0].extension, 2U);
}

TEST_F(ItchAnnouncements, AShortSaleRestrictionHasNoPrices) {
    for (const auto* const action : {"0", "1", "2"}) apply(Message{'Y', 20}.put(11, "AAPL    ").put(19, action));
    ASSERT_EQ(seen_.bands.size(), 3U);
    constexpr std::array kExpected{ShortSale::allowed, ShortSale::restricted_now, ShortSale::restricted_earlier};
    for (std::size_t i = 0; i < kExpected.size(); ++i) {
        EXPECT_EQ(seen_.bands[i].band, BandKind::short_sale);
        EXPECT_EQ(seen_.bands[i].short_sale, kExpected[i]);
        EXPECT_EQ(seen_.bands[i].lower_price, kNoPrice);
        EXPECT_EQ(seen_.bands[i].upper_price, kNoPrice);
    }
}

TEST_F(ItchAnnouncements, ADirectoryEntryHasClassCurrencyAndLot) {
    const auto entry = [](std::string_view classification, std::string_view fund) {
        return Message{'R', 39}
            .put(11, "AAPL    QN")
            .put<std::uint32_t>(21, 100)
            .put(25, "N")
            .put(26, classification)
            .put(27, "Z PN 1")
            .put(33, fund)
            .put(38, "N");
    };
    apply(entry("C", "N"));
    apply(entry("Q", "Y"));
    apply(entry("W", " "));
    apply(entry("?", " "));
    ASSERT_EQ(seen_.definitions.size(), 4U);
    EXPECT_EQ(seen_.definitions[0].instrument_class, InstrumentClass::stock);
    EXPECT_EQ(seen_.definitions[1].instrument_class, InstrumentClass::fund);
    EXPECT_EQ(seen_.definitions[2].instrument_class, InstrumentClass::warrant);
    EXPECT_EQ(seen_.definitions[3].instrument_class, InstrumentClass::unknown);
    EXPECT_EQ(seen_.definitions[0].lot, 100U);
    EXPECT_EQ(seen_.definitions[0].decimals, 4U);
    EXPECT_EQ(seen_.definitions[0].currency.view(), "USD");
    EXPECT_EQ(seen_.definitions[0].tick, kNoPrice);
}

TEST_F(ItchAnnouncements, AHandlerWithoutFunctionsForThemGetsNone) {
    Recorder seen;
    apply(imbalance('B', 'C'), seen);
    apply(Message{'Y', 20}.put(11, "AAPL    ").put(19, "1"), seen);
    EXPECT_TRUE(seen.order.empty());
    EXPECT_EQ(builder_.counters().applied.read(), 2U);
    EXPECT_EQ(builder_.counters().imbalances.read(), 0U);
}

}  // namespace
}  // namespace millpond::feed
