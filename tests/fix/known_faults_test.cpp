// Faults of published FIX code, one test each.
#include <string>

#include <gtest/gtest.h>

#include <millpond/fix/group.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/writer.hpp>

#include "tests/fix/session_peer.hpp"

namespace millpond::fix {
namespace {

class KnownFault : public testing::Test {
protected:
    Message parsed(const std::string& body) {
        bytes_ = message_of("FIX.4.4", body);
        const auto frame = next_frame(bytes_of(bytes_));
        EXPECT_TRUE(frame) << body;
        const auto message = parser_.parse(*frame);
        EXPECT_TRUE(message) << body;
        return *message;
    }
    Parser parser_;
    std::string bytes_;
};

TEST_F(KnownFault, BodyLengthIsNotCompared) {
    auto bytes = message_of("FIX.4.4", "35=D|34=2|58=x|");
    const auto at = bytes.find("9=15");
    ASSERT_NE(at, std::string::npos);
    for (const auto* wrong : {"9=14", "9=16"}) {
        bytes.replace(at, 4, wrong);
        const auto frame = next_frame(bytes_of(bytes + std::string(16, '\x01')));
        ASSERT_FALSE(frame);
        EXPECT_EQ(frame.error().error, FrameError::bad_body_length);
    }
}

TEST_F(KnownFault, FieldsBeyond128AreDroppedWithSuccess) {
    std::string body = "35=D|";
    for (int i = 0; i < 400; ++i) body += std::to_string(6000 + i) + "=" + std::to_string(i) + "|";
    const auto message = parsed(body);
    ASSERT_EQ(message.fields().size(), 404U);
    for (Tag i = 0; i < 400; ++i) ASSERT_EQ(message.integer(6000 + i), i);
}

TEST_F(KnownFault, TagsFrom512OnAreLost) {
    const auto message = parsed("35=D|511=a|512=b|1024=c|99999=d|123456789=e|");
    EXPECT_EQ(message.text(512), "b");
    EXPECT_EQ(message.text(1024), "c");
    EXPECT_EQ(message.text(99'999), "d");
    EXPECT_EQ(message.text(123'456'789), "e");
}

TEST_F(KnownFault, AnEqualsSignInAValueShiftsAllLaterFields) {
    const auto message = parsed("35=D|11=A=B==|44=1.5|58==|55=X|");
    EXPECT_EQ(message.text(11), "A=B==");
    EXPECT_EQ(message.decimal(44), (Decimal{15, 1}));
    EXPECT_EQ(message.text(58), "=");
    EXPECT_EQ(message.text(55), "X");
}

TEST_F(KnownFault, DataFieldsAreNotHonoured) {
    const auto message = parsed("35=B|95=9|96=a|10=999||58=x|");
    EXPECT_EQ(message.text(96), delimited("a|10=999|").substr(0, 9));
    EXPECT_EQ(message.text(58), "x");
}

TEST_F(KnownFault, PricesGoThroughDoubleAndEightDigits) {
    const auto message = parsed("35=D|44=123456789.123456789|99=0.1|");
    EXPECT_EQ(message.decimal(44), (Decimal{123'456'789'123'456'789, 9}));
    EXPECT_EQ(scaled(*message.decimal(99), 18), 100'000'000'000'000'000);
    std::array<char, 128> memory;
    Writer writer{memory, "FIX.4.4"};
    const auto text = writer.add<35>("D").add<44>(Decimal{123'456'789'123'456'789, 9}).finish();
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("44=123456789.123456789\x01"), std::string_view::npos);
}

TEST(KnownFaultOfResends, PossDupFlagOrigSendingTimeAndGapFillAreMissing) {
    Peer peer;
    peer.log_on();
    ASSERT_TRUE(peer.order("a"));
    peer.pass(31 * kSecond);  // a Heartbeat of ours, number 3
    ASSERT_TRUE(peer.order("b"));
    static_cast<void>(peer.sent());
    peer.give("2", "7=1|16=0|");
    const auto sent = peer.sent();
    EXPECT_NE(sent.find("35=4|34=1|43=Y|122="), std::string::npos) << sent;  // the Logon
    EXPECT_NE(sent.find("35=D|34=2|43=Y|122=20240102-03:04:05.000|11=a|"), std::string::npos) << sent;
    EXPECT_NE(sent.find("123=Y|"), std::string::npos) << sent;
    EXPECT_NE(sent.find("|43=Y|122=20240102-03:04:36.000|11=b|"), std::string::npos) << sent;
}

TEST(KnownFaultOfResends, MessagesOutOfSequenceAreDelivered) {
    Peer peer;
    peer.log_on();
    peer.give("D", 4, "11=c|");
    peer.give("D", 3, "11=b|");
    EXPECT_TRUE(peer.delivered_.empty());
    peer.give("D", 2, "11=a|");
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3, 4}));
}

TEST(KnownFaultOfResends, TheyAreRebuiltWithoutGroups) {
    Peer peer;
    peer.log_on();
    ASSERT_TRUE(peer.session_.send("D", peer.now_, [](Writer& writer) {
        writer.add<11>("a").add<453>(2).add<448>("X").add<452>(1).add<448>("Y").add<452>(2);
    }));
    static_cast<void>(peer.sent());
    peer.give("2", "7=2|16=2|");
    EXPECT_NE(peer.sent().find("11=a|453=2|448=X|452=1|448=Y|452=2|"), std::string::npos);
}

}  // namespace
}  // namespace millpond::fix
