#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/wire_key_index.hpp>

namespace millpond::feed {
namespace {

TEST(InstrumentTable, NumbersInstrumentsInTheOrderInWhichTheyAreSeen) {
    InstrumentTable table{8};
    EXPECT_EQ(table.find_or_add(Venue{"XNAS"}, Symbol{"AAPL"}), 0U);
    EXPECT_EQ(table.find_or_add(Venue{"XNAS"}, Symbol{"MSFT"}), 1U);
    EXPECT_EQ(table.find_or_add(Venue{"XNAS"}, Symbol{"AAPL"}), 0U);
    EXPECT_EQ(table.size(), 2U);
    EXPECT_EQ(table.symbol(1).view(), "MSFT");
    EXPECT_EQ(table.venue(1).view(), "XNAS");
}

TEST(InstrumentTable, TheSameSymbolOfTwoVenuesIsTwoInstruments) {
    InstrumentTable table{8};
    EXPECT_NE(table.find_or_add(Venue{"XNAS"}, Symbol{"AAPL"}), table.find_or_add(Venue{"ARCX"}, Symbol{"AAPL"}));
}

TEST(InstrumentTable, WhenFullItStillFindsWhatItHasAndCountsWhatItRefuses) {
    constexpr std::size_t kCapacity = 1000;
    InstrumentTable table{kCapacity};
    for (std::size_t i = 0; i < kCapacity; ++i) {
        ASSERT_EQ(table.find_or_add(Venue{}, Symbol{std::to_string(i)}), i);
    }
    EXPECT_EQ(table.find_or_add(Venue{}, Symbol{"one too many"}), kNoInstrument);
    EXPECT_EQ(table.find(Venue{}, Symbol{"one too many"}), kNoInstrument);
    EXPECT_EQ(table.refused().read(), 1U);
    for (std::size_t i = 0; i < kCapacity; ++i) ASSERT_EQ(table.find(Venue{}, Symbol{std::to_string(i)}), i);
    EXPECT_EQ(table.size(), kCapacity);
}

TEST(InstrumentTable, RefusesACapacityThatCannotBeNamingTheBound) {
    EXPECT_THROW(InstrumentTable{0}, std::invalid_argument);
    try {
        InstrumentTable table{(std::size_t{1} << 30) + 1};
        FAIL();
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string{error.what()}.find("1073741824"), std::string::npos);
    }
}

TEST(WireKeyIndex, FindsEachKeyItWasGivenAndNoOther) {
    constexpr std::uint64_t kKeys = 5000;
    WireKeyIndex index{kKeys};
    for (std::uint64_t key = 0; key < kKeys; ++key) ASSERT_TRUE(index.add(key << 32, static_cast<InstrumentId>(key)));
    EXPECT_FALSE(index.add(7, 7));
    for (std::uint64_t key = 0; key < kKeys; ++key) ASSERT_EQ(index.find(key << 32), key);
    EXPECT_EQ(index.find(1), kNoInstrument);
}

}  // namespace
}  // namespace millpond::feed
