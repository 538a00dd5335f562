// What the log says about sessions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
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

TEST(SessionLog, BytesThatAreNoMessageAndMessagesThatAreTooLongAreReported) {
    RunningEngine house{kListen + waits_for("DESK", "max_message_bytes = '4KiB'\n")};
    engine::RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("DESK"); }));
    house.engine().watch();
    EXPECT_EQ(house.said().find("ignored bytes"), std::string::npos);
    desk.send(fix44("B", 2, "DESK", "HOUSE", "58=" + std::string(5'000, 'x') + "|"));
    ASSERT_TRUE(comes_true([&] {
        house.engine().watch();
        return house.said().find("ignored bytes") != std::string::npos;
    }));
    EXPECT_THAT(house.said(), HasSubstr("longer than max_message_bytes (1 times since startup)"));
}

}  // namespace
}  // namespace millpond::fixd
