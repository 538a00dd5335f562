#include "fixd/sessions/status_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millpond::fixd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StatusLog, EachCounterThatHasGrownIsLogged) {
    std::vector<std::string> lines;
    service::Log log{service::Severity::info, service::LogFormat::text,
                     [&](const std::string& line) { lines.push_back(line); }};
    StatusLog status_log;
    engine::SessionStatus status;
    status.name = "A->B";
    status_log.update(status, log);
    EXPECT_TRUE(lines.empty());
    status.garbled = 2;
    status_log.update(status, log);
    EXPECT_THAT(lines, ElementsAre(HasSubstr("warning A->B: ignored bytes that are no message")));
    lines.clear();
    status.next_sender = 8;
    status.beyond = 1;
    status.store_damaged = 1;
    status.store_failures = 1;
    status.standby.losses = 1;
    status.standby.error = "timed out";
    status_log.update(status, log);
    EXPECT_THAT(lines, ElementsAre(HasSubstr("will not be resent"), HasSubstr("free space on the disk"),
                                   HasSubstr("never sent, beyond 7"),
                                   HasSubstr("the standby is lost: timed out; the session stops")));
}

}  // namespace
}  // namespace millpond::fixd
