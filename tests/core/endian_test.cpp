#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>

namespace millpond::core {
namespace {

constexpr std::array kBytes{std::byte{0x01}, std::byte{0x02}, std::byte{0x03}, std::byte{0x04},
                            std::byte{0x05}, std::byte{0x06}, std::byte{0x07}, std::byte{0x88}};

TEST(Endian, BigEndianReadsTheMostSignificantByteFirst) {
    EXPECT_EQ(load_be<std::uint16_t>(kBytes.data()), 0x0102);
    EXPECT_EQ(load_be<std::uint32_t>(kBytes.data()), 0x01020304U);
    EXPECT_EQ(load_be<std::uint64_t>(kBytes.data()), 0x0102030405060788ULL);
}

TEST(Endian, LittleEndianReadsTheLeastSignificantByteFirst) {
    EXPECT_EQ(load_le<std::uint16_t>(kBytes.data()), 0x0201);
    EXPECT_EQ(load_le<std::uint32_t>(kBytes.data()), 0x04030201U);
    EXPECT_EQ(load_le<std::int64_t>(kBytes.data()), static_cast<std::int64_t>(0x8807060504030201ULL));
}

TEST(Endian, StoreIsTheInverseOfLoadAtAnyAlignment) {
    std::array<std::byte, 16> memory{};
    for (std::size_t offset = 0; offset < 8; ++offset) {
        store_be(memory.data() + offset, std::uint64_t{0xFEDCBA9876543210ULL});
        EXPECT_EQ(load_be<std::uint64_t>(memory.data() + offset), 0xFEDCBA9876543210ULL);
        store_le(memory.data() + offset, std::int32_t{-2});
        EXPECT_EQ(load_le<std::int32_t>(memory.data() + offset), -2);
    }
}

}  // namespace
}  // namespace millpond::core
