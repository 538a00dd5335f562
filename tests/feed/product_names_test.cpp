#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <millpond/feed/product_names.hpp>

namespace millpond::feed {
namespace {

std::string refusal(std::string_view text) {
    try {
        (void)ProductNames::parse(text);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

TEST(ProductNames, ReadsNumbersAndSymbolsAndSkipsRemarks) {
    const auto names = ProductNames::parse("# product,symbol\n67111017,AAPL 161118C00110000\r\n\n  12\tMSFT  \n7 , X");
    EXPECT_EQ(names.size(), 3U);
    EXPECT_EQ(names.find(67111017).view(), "AAPL 161118C00110000");
    EXPECT_EQ(names.find(12).view(), "MSFT");
    EXPECT_EQ(names.find(7).view(), "X");
}

TEST(ProductNames, AProductWithoutANameIsCalledByItsNumber) {
    EXPECT_EQ(ProductNames{}.find(4294967295U).view(), "4294967295");
}

TEST(ProductNames, NamesTheLineThatItCannotRead) {
    EXPECT_NE(refusal("1,A\nAAPL,2\n").find("line 2: does not begin with a product number: AAPL,2"), std::string::npos);
    EXPECT_NE(refusal("1\n").find("line 1: has no symbol"), std::string::npos);
    EXPECT_NE(refusal("1,").find("has no symbol"), std::string::npos);
    EXPECT_NE(refusal("4294967296,A").find("does not begin with a product number"), std::string::npos);
    EXPECT_NE(refusal("1,A\n2,A").find("line 2: another product has this symbol"), std::string::npos);
    EXPECT_NE(refusal("1,A\n1,B").find("line 2: the product has a name already"), std::string::npos);
    EXPECT_NE(refusal("1," + std::string(33, 'A')).find("longer than 32"), std::string::npos);
    EXPECT_NE(refusal("1,A\tB").find("not printable"), std::string::npos);
}

}  // namespace
}  // namespace millpond::feed
