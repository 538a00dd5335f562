#include <stdexcept>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <millpond/fix/header_generator.hpp>
#include <millpond/fix/parser.hpp>

#include <generated/small_messages.hpp>

#include "tests/fix/messages.hpp"
#include "tests/fix/small_dictionary.hpp"

namespace millpond::fix {
namespace {

TEST(HeaderGenerator, AMessageReadsItsFieldsAsWhatTheyAre) {
    const auto bytes = message_of(
        "FIX.4.4",
        "35=D|34=2|11=A1|40=2|38=1500|44=10.25|60=20240102-03:04:05.678|453=2|448=X|452=1|802=2|523=x1|523=x2|448=Y|"
        "452=3|58=end|");
    Parser parser;
    const auto message = parser.parse(*next_frame(bytes_of(bytes)));
    ASSERT_TRUE(message);
    ASSERT_TRUE(::test::small::NewOrderSingle::is(*message));
    const ::test::small::NewOrderSingle order{*message};
    EXPECT_EQ(order.cl_ord_id(), "A1");
    EXPECT_EQ(order.ord_type(), '2');
    EXPECT_EQ(order.price(), (Decimal{1025, 2}));
    EXPECT_EQ(order.transact_time(), 1'704'164'645'678'000'000);
    EXPECT_FALSE(order.symbol());
    static_assert(::test::small::tag::kClOrdID == 11);
    ASSERT_EQ(order.no_party_ids().size(), 2U);
    std::string walked;
    for (const auto& party : order.no_party_ids()) {
        walked += std::string{*party.party_id()} + std::to_string(*party.party_role());
        for (const auto& sub : party.no_party_sub_ids()) walked += "," + std::string{*sub.party_sub_id()};
        walked += ";";
    }
    EXPECT_EQ(walked, "X1,x1,x2;Y3;");
}

TEST(HeaderGenerator, AGroupThatIsNotThereIsEmpty) {
    const auto bytes = message_of("FIX.4.4", "35=D|34=2|11=A1|");
    Parser parser;
    const auto message = parser.parse(*next_frame(bytes_of(bytes)));
    ASSERT_TRUE(message);
    EXPECT_EQ(::test::small::NewOrderSingle{*message}.no_party_ids().size(), 0U);
}

TEST(HeaderGenerator, OnlyRequestedMessagesGetAView) {
    const auto dictionary = small_dictionary();
    const auto text = generate_header(dictionary, {.name_space = "a", .message_types = {"0"}});
    EXPECT_NE(text.find("class Heartbeat {"), std::string::npos);
    EXPECT_EQ(text.find("class NewOrderSingle {"), std::string::npos);
    EXPECT_THROW(static_cast<void>(generate_header(dictionary, {.message_types = {"ZZ"}})), std::invalid_argument);
    for (const auto* wrong : {"", "a::", "::a", "1a", "a b"}) {
        EXPECT_THROW(static_cast<void>(generate_header(dictionary, {.name_space = wrong})), std::invalid_argument);
    }
}

}  // namespace
}  // namespace millpond::fix
