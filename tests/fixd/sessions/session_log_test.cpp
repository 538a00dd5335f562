// Log lines about sessions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using ::testing::HasSubstr;

TEST(SessionLog, NumbersThatDoNotFitNameTheStoreAndTheCureOnBothSides) {
    const auto folder = ::testing::TempDir() + test::scratch_name("session_log");
    const auto store = folder + "/venue.store";
    RunningEngine venue{
        "[[acceptor]]\nlisten = '127.0.0.1:0'\n[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\nstore = '" + store +
        "'\n"};
    venue.engine().sessions().at(0)->request_numbers(25, 25, {});
    ASSERT_TRUE(comes_true([&] { return venue.status("DESK").next_target == 25; }));
    RunningEngine desk{"[[session]]\nsender = 'DESK'\ntarget = 'HOUSE'\nreconnect_ms = 20\nhosts = ['" +
                       venue.engine().listening().at(0) + "']\n"};
    ASSERT_TRUE(comes_true([&] { return desk.counts().closed.load() != 0 && venue.counts().closed.load() != 0; }));
    EXPECT_THAT(venue.said(), HasSubstr("MsgSeqNum too low, expecting 25 but received 1; our numbers are in " + store +
                                        ": if the counterparty has reset its own, run `millpond fix sessions reset`"));
    EXPECT_THAT(desk.said(), HasSubstr("MsgSeqNum too low, expecting 25 but received 1; our numbers are in memory: "
                                       "`millpond fix sessions set-seq --next-out`"));
    std::filesystem::remove_all(folder);
}

TEST(SessionLog, BytesThatAreNotAMessageAreReported) {
    RunningEngine house{kListen + waits_for("DESK")};
    engine::RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("DESK"); }));
    house.engine().watch();
    EXPECT_EQ(house.said().find("ignored bytes"), std::string::npos);
    auto garbled = fix44("B", 2, "DESK", "HOUSE", "58=x|");
    garbled[garbled.size() - 2] = garbled[garbled.size() - 2] == '0' ? '1' : '0';
    desk.send(garbled);
    ASSERT_TRUE(comes_true([&] {
        house.engine().watch();
        return house.said().find("ignored bytes") != std::string::npos;
    }));
}

TEST(SessionLog, AMessageThatIsTooLongIsReportedWithItsLengthAndType) {
    RunningEngine house{kListen + waits_for("DESK", "max_message_bytes = '4KiB'\n")};
    engine::RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("DESK"); }));
    const auto message = fix44("B", 2, "DESK", "HOUSE", "58=" + std::string(5'000, 'x') + "|");
    desk.send(message);
    const auto expected = "FIX.4.4:HOUSE->DESK: message 2 (35=B) not read: message of " +
                          std::to_string(message.size()) + " bytes is longer than the 4096 allowed";
    ASSERT_TRUE(comes_true([&] { return house.said().find(expected) != std::string::npos; })) << house.said();
    house.engine().watch();
    EXPECT_EQ(house.said().find("ignored bytes"), std::string::npos);
}

TEST(SessionLog, AMessageThatIsRejectedIsReportedAndIsAFinding) {
    RunningEngine house{kListen + "[[web]]\nlisten = '127.0.0.1:0'\n" + waits_for("DESK")};
    engine::RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("DESK"); }));
    desk.send(fix44("1", 2, "DESK", "HOUSE", "112=a|112=b|"));
    desk.send(fix44("0", 3, "DESK", "HOUSE", "554=hunter2|"));
    desk.send(fix44("0", 4, "DESK", "HOUSE", "0925=hunter2|"));
    const std::string twice = "message 2 (35=1) rejected: tag 112 'b': Tag appears more than once";
    ASSERT_TRUE(comes_true([&] { return house.said().find("message 4 (35=0) rejected") != std::string::npos; }));
    EXPECT_THAT(house.said(), HasSubstr("FIX.4.4:HOUSE->DESK: " + twice));
    EXPECT_THAT(house.said(), HasSubstr("message 3 (35=0) rejected: tag 554 (value hidden): "));
    EXPECT_THAT(house.said(), HasSubstr("message 4 (35=0) rejected: tag 0925 (value hidden): "));
    const auto health = house.engine().page({.path = "/api/health"}).body;
    EXPECT_THAT(health, HasSubstr(R"("stage":"rejected","severity":"warning","of":"session 'FIX.4.4:HOUSE->DESK'")"));
    EXPECT_THAT(health, HasSubstr("1 rejected, the newest: " + twice));
    EXPECT_THAT(health, HasSubstr(R"("last_error":"message 4 (35=0) rejected)"));
    EXPECT_EQ((house.said() + health).find("hunter2"), std::string::npos);
}

TEST(SessionLog, TheRawLogOfATemplatesSessionHasTheLogonBeforeItsAnswer) {
    const auto file = ::testing::TempDir() + test::scratch_name("raw.log");
    {
        RunningEngine house{"raw_log = '" + file + "'\n" + kListen + waits_for("*")};
        engine::RawClient desk{house.port()};
        desk.send(logon(1, "DESK"));
        ASSERT_TRUE(comes_true([&] { return house.is_active("DESK"); }));
    }
    std::ifstream in{file};
    std::string first;
    std::string second;
    std::getline(in, first);
    std::getline(in, second);
    EXPECT_THAT(first, HasSubstr(" < FIX.4.4:HOUSE->DESK 8=FIX.4.4")) << second;
    EXPECT_THAT(second, HasSubstr(" > FIX.4.4:HOUSE->DESK 8=FIX.4.4"));
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace millpond::fixd
