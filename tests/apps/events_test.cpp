// `millpond events`, and what a gateway's event log keeps over a crash.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string metrics_address(const GatewayRun& gateway) {
    const auto url = gateway.word_after("metrics: http://");
    return url.substr(0, url.find('/'));
}

std::size_t times_in(std::string_view text, std::string_view part) {
    std::size_t times = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++times;
    return times;
}

/// Sends heartbeats with a gap of three messages between each two.
class GapSender {
public:
    explicit GapSender(const GatewayRun& gateway) : sender_({.to = net::SocketAddress::parse(gateway.feed_address())}) {
        send();
    }
    void send() {
        std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
        encoder_.begin(buffer);
        ASSERT_TRUE(sender_.send(encoder_.finish(core::utc_nanos())));
        encoder_.skip(3);
    }

private:
    net::UdpSender sender_;
    feed::QuotesEncoder encoder_{{.channel = 0, .session = 1}};
};

class Events : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] GatewayRun::Options options(const std::string& ring) const {
        return {.ring = ring, .format = "quotes", .feed = ",stale_seconds=0", .more = {"--state", folder_.string()}};
    }
    /// Waits until a file of the folder contains the text.
    [[nodiscard]] bool is_saved(const std::string& text) const {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (core::monotonic_nanos() < deadline) {
            std::error_code missing;  // not created yet
            for (const auto& entry : std::filesystem::directory_iterator{folder_, missing}) {
                std::ifstream in{entry.path(), std::ios::binary};
                const std::string content{std::istreambuf_iterator<char>{in}, {}};
                if (entry.path().extension() == ".events" && content.contains(text)) return true;
            }
            usleep(20'000);
        }
        return false;
    }

    std::filesystem::path folder_{std::filesystem::path{testing::TempDir()} / test::scratch_name("events")};
};

TEST_F(Events, AreFilteredAndPrintedAsTextOrJson) {
    GatewayRun gateway{options(unique_ring("events"))};
    GapSender sender{gateway};
    sender.send();
    const auto address = metrics_address(gateway);
    Program following{{"events", address, "--follow", "--kind", "gap"}};
    EXPECT_TRUE(following.prints("Z warning feed 'f': gap: sequence numbers "));
    const auto json = run({"events", address, "--json", "--kind", "start,gap"});
    EXPECT_EQ(json.exit_code, 0) << json.err;
    EXPECT_THAT(json.out, AllOf(StartsWith("{"), HasSubstr(R"("kind":"start")"), HasSubstr(R"("kind":"gap")")));
    EXPECT_THAT(run({"events", "http://" + address + "/", "--kind", "start"}).out,
                AllOf(HasSubstr("Z info    gateway: start: millpond "), Not(HasSubstr("gap"))));
    EXPECT_EQ(run({"events", address, "--since", "2100-01-01"}).out, "");
    EXPECT_THAT(run({"events", address, "--since", "1h", "--kind", "start"}).out, HasSubstr("started"));
    // New events are printed as they come, and each once.
    std::size_t printed = 1;
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (!following.output().contains(" s, the last: ") && core::monotonic_nanos() < deadline) {
        for (int i = 0; i < 5; ++i) sender.send();
        EXPECT_TRUE(following.prints("feed 'f': gap: ", ++printed));
    }
    EXPECT_TRUE(following.output().contains(" s, the last: sequence numbers "));
    following.signal(SIGINT);
    EXPECT_EQ(following.wait().exit_code, 0);
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST_F(Events, WrongArgumentsAreExplained) {
    const auto kind = run({"events", "--kind", "gap,gpa"});
    EXPECT_EQ(kind.exit_code, 2);
    EXPECT_THAT(kind.err, HasSubstr("'gpa' is none of start, stop, reload, gap"));
    const auto since = run({"events", "--since", "yesterday"});
    EXPECT_EQ(since.exit_code, 2);
    EXPECT_THAT(since.err, HasSubstr("--since: 'yesterday' is neither an age like 15m nor a time like"));
    EXPECT_EQ(run({"events", "127.0.0.1:1"}).exit_code, 1);
}

TEST_F(Events, AGatewayThatWasKilledIsNamedByItsSuccessorWhichHasTheEventsBefore) {
    auto given = options(unique_ring("events-killed"));
    GatewayRun first{given};
    GapSender sender{first};
    sender.send();
    ASSERT_TRUE(is_saved("are missing"));
    given.metrics = metrics_address(first);
    Program following{{"events", given.metrics, "--follow"}};
    ASSERT_TRUE(following.prints(": gap: sequence numbers "));
    first.program().signal(SIGKILL);
    EXPECT_TRUE(following.prints("millpond events: "));
    static_cast<void>(first.program().wait());
    GatewayRun second{given};
    const auto events = run({"events", given.metrics}).out;
    EXPECT_THAT(events, AllOf(HasSubstr(": gap: sequence numbers "),
                              HasSubstr("; the run before did not stop in order, and was last seen at 20")));
    EXPECT_TRUE(following.prints("; the run before did not stop in order"));
    EXPECT_EQ(second.end().exit_code, 0);
    EXPECT_TRUE(is_saved("stopped"));
    following.signal(SIGINT);
    const auto followed = following.wait();
    EXPECT_EQ(followed.exit_code, 0);
    EXPECT_EQ(times_in(followed.out, ": gap: sequence numbers "), 1U) << "each event is printed once";
    EXPECT_EQ(times_in(followed.out, "started"), 2U);
}

}  // namespace
}  // namespace millpond::app
