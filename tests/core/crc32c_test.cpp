#include <millpond/core/crc32c.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace millpond::core {
namespace {

// Source: RFC 3720, appendix B.4: 32 bytes of zeros, of ones, and counting up.
TEST(Crc32c, GivesTheValuesOfTheStandard) {
    const std::array<std::uint64_t, 4> zeros{};
    const std::array<std::uint64_t, 4> ones{~0ULL, ~0ULL, ~0ULL, ~0ULL};
    const std::array<std::uint64_t, 4> counting{0x0706050403020100, 0x0F0E0D0C0B0A0908, 0x1716151413121110,
                                                0x1F1E1D1C1B1A1918};
    for (const auto crc : {crc32c, detail::crc32c_portable}) {
        EXPECT_EQ(crc(zeros, {}), 0x8A9136AAU);
        EXPECT_EQ(crc(ones, {}), 0x62A8AB43U);
        EXPECT_EQ(crc(counting, {}), 0x46DD794EU);
        EXPECT_EQ(crc({}, std::as_bytes(std::span{counting})), 0x46DD794EU);
        EXPECT_EQ(crc(std::span{counting}.first(1), std::as_bytes(std::span{counting}.subspan(1))), 0x46DD794EU);
        EXPECT_EQ(crc({}, std::as_bytes(std::span{"123456789", 9})), 0xE3069283U);
    }
}

TEST(Crc32c, TheProcessorAndTheTableAgree) {
    std::mt19937_64 random{7};
    for (std::size_t length = 0; length < 40; ++length) {
        std::vector<std::uint64_t> words(length);
        for (auto& word : words) word = random();
        EXPECT_EQ(crc32c(words), detail::crc32c_portable(words)) << length;
        const auto bytes = std::as_bytes(std::span{words}).subspan(length == 0 ? 0 : 3);
        EXPECT_EQ(crc32c({}, bytes), detail::crc32c_portable({}, bytes)) << length;
    }
}

}  // namespace
}  // namespace millpond::core
