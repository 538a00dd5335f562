#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

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

TEST(InstrumentTable, AnInstrumentKeepsTheDecimalsWithWhichItWasAdded) {
    InstrumentTable table{8};
    const auto euro = table.find_or_add(Venue{"XCME"}, Symbol{"6E"}, 5);
    EXPECT_EQ(table.find_or_add(Venue{"XCME"}, Symbol{"6E"}, 7), euro);
    EXPECT_EQ(table.decimals(euro), 5U);
    EXPECT_EQ(table.decimals(table.find_or_add(Venue{"XNAS"}, Symbol{"AAPL"})), kDefaultDecimals);
}

TEST(InstrumentTable, WhenFullItStillFindsItsInstrumentsAndCountsRefusals) {
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

TEST(WireKeyIndex, FindsKeysThatCrowdAroundOnePlaceAndAroundTheLast) {
    WireKeyIndex index{30};  // 64 slots, so the upper six bits of key * kOdd are a key's home
    constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;
    std::uint64_t inverse = kOdd;  // of kOdd modulo 2^64: each step doubles the bits that are right
    for (int step = 0; step < 5; ++step) inverse *= 2 - kOdd * inverse;
    ASSERT_EQ(inverse * kOdd, 1U);
    std::vector<std::uint64_t> keys;
    for (const std::uint64_t home : {std::uint64_t{20}, std::uint64_t{63}}) {
        for (std::uint64_t i = 0; i < 15; ++i) keys.push_back((home << 58 | (i + 1)) * inverse);
    }
    EXPECT_EQ(index.find(0), kNoInstrument);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(index.find(keys[i]), kNoInstrument);
        ASSERT_TRUE(index.add(keys[i], static_cast<InstrumentId>(i)));
        for (std::size_t j = 0; j <= i; ++j) ASSERT_EQ(index.find(keys[j]), j);
    }
}

TEST(WireKeyIndex, FindsKeyZeroOnlyWhenItWasAdded) {
    WireKeyIndex index{4};
    EXPECT_EQ(index.find(0), kNoInstrument);
    ASSERT_TRUE(index.add(0, 3));
    EXPECT_EQ(index.find(0), 3U);
}

}  // namespace
}  // namespace millpond::feed
