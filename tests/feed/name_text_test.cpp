#include <cstddef>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include <millpond/feed/name_text.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

using Name = core::FixedString<32>;

// Reads `text` after eight other bytes, at the end of the readable memory.
bool read(const std::string& text, Name& name) {
    const auto padded = "########" + text;
    const ExactCopy exact{std::as_bytes(std::span{padded})};
    return read_name(exact.span().data() + 8, text.size(), name);
}

TEST(ReadName, KeepsNamesOfEveryLengthAndNothingBesides) {
    for (std::size_t length = 0; length <= 32; ++length) {
        const auto text = std::string{"abcdefghijklmnopqrstuvwxyz012345"}.substr(0, length);
        Name name;
        ASSERT_TRUE(read(text, name));
        EXPECT_EQ(name, Name{text});
    }
    Name name;
    EXPECT_FALSE(read(std::string(33, 'A'), name));
}

TEST(ReadName, RefusesEachByteThatIsNotPrintableInEachPlace) {
    for (std::size_t length : {1U, 7U, 8U, 9U, 20U, 32U}) {
        for (std::size_t place = 0; place < length; ++place) {
            for (int byte = 0; byte < 256; ++byte) {
                std::string text(length, 'A');
                text[place] = static_cast<char>(byte);
                const bool printable = byte >= ' ' && byte <= '~' && (byte != ' ' || place + 1 < length);
                Name name;
                ASSERT_EQ(read(text, name), printable) << length << ' ' << place << ' ' << byte;
                ASSERT_EQ(name, printable ? Name{text} : Name{});
            }
        }
    }
}

TEST(PaddedName, LosesItsSpacesAndRefusesUnprintableBytes) {
    const auto name = [](std::string_view text) { return padded_name<8>(std::as_bytes(std::span{text})); };
    EXPECT_EQ(name("AAPL    ")->view(), "AAPL");
    EXPECT_EQ(name("BRK B   ")->view(), "BRK B");
    EXPECT_FALSE(name("        "));
    EXPECT_FALSE(name(""));
    EXPECT_FALSE(name("AAPL\x7F"));
    EXPECT_FALSE(name("ABCDEFGHI"));
}

}  // namespace
}  // namespace millpond::feed
