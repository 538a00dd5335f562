// Addresses that may log on to one session of an acceptor.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fixd/running_engine.hpp"

namespace millpond::fixd {
namespace {

using ::testing::HasSubstr;

TEST(SessionAllow, OnlyItsAddressesLogOnAndARefusalCostsNoNumber) {
    RunningEngine venue{
        "[[acceptor]]\nlisten = '127.0.0.1:0'\n"
        "[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\nallow = ['127.0.0.7']\n"};
    const auto port = venue.engine().listening().at(0);
    const auto desk_from = [&](const std::string& address) {
        return "[[session]]\nsender = 'DESK'\ntarget = 'HOUSE'\nhosts = ['" + port + "']\nreconnect_ms = 20\n" +
               "local_address = '" + address + "'\n";
    };
    {
        RunningEngine desk{desk_from("127.0.0.8")};
        EXPECT_TRUE(comes_true([&] { return desk.counts().closed.load() >= 2; }));
        EXPECT_EQ(desk.counts().logons.load(), 0);
        EXPECT_THAT(venue.said(), HasSubstr("127.0.0.8"));
        EXPECT_THAT(venue.said(), HasSubstr("not an address of this session"));
    }
    EXPECT_EQ(venue.counts().logons.load(), 0);
    EXPECT_EQ(venue.status("DESK").next_sender, 1U);
    EXPECT_EQ(venue.status("DESK").next_target, 1U);

    RunningEngine desk{desk_from("127.0.0.7")};
    EXPECT_TRUE(comes_true([&] { return desk.counts().logons.load() == 1; }));
    EXPECT_TRUE(desk.engine().drain(std::chrono::seconds{20}));
}

}  // namespace
}  // namespace millpond::fixd
