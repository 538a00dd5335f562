#include <type_traits>

#include <gtest/gtest.h>

#include <millpond/core/fixed_string.hpp>

namespace millpond::core {
namespace {

TEST(FixedString, HoldsExactlyItsCapacityWithoutATerminator) {
    constexpr FixedString<4> kFull{"AAPL"};
    EXPECT_EQ(kFull.view(), "AAPL");
    EXPECT_EQ(kFull.size(), 4U);
    EXPECT_EQ(sizeof kFull, 4U);
}

TEST(FixedString, TruncatesALongerTextThatFitsRefuses) {
    EXPECT_FALSE(FixedString<4>::fits("GOOGL"));
    EXPECT_EQ(FixedString<4>{"GOOGL"}.view(), "GOOG");
}

TEST(FixedString, EqualTextsHaveEqualBytesWhateverWasThereBefore) {
    FixedString<8> reused{"LONGNAME"};
    reused = FixedString<8>{"IBM"};
    EXPECT_EQ(reused, FixedString<8>{"IBM"});
    EXPECT_NE(reused, FixedString<8>{"IBMX"});
}

TEST(FixedString, MayTravelThroughSharedMemory) {
    static_assert(std::is_trivially_copyable_v<FixedString<32>>);
    EXPECT_TRUE(FixedString<32>{}.empty());
}

}  // namespace
}  // namespace millpond::core
