#include "apps/millpond/top/top_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string metrics_address(const GatewayRun& gateway) {
    const auto url = gateway.word_after("metrics: http://");
    return url.substr(0, url.find('/'));
}

TEST(Top, ShowsFeedsRingsAndSinksOnceAsTablesOrAsJson) {
    GatewayRun gateway{
        {.ring = unique_ring("top"), .format = "quotes", .more = {"--tcp", "name=lines,listen=127.0.0.1:0"}}};
    const auto address = metrics_address(gateway);
    const auto table = run({"top", "--once", "--gateway", address});
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_THAT(table.out, AllOf(StartsWith(fmt::format("1 warning  {} on ", gateway.ring())), HasSubstr("\nf  "),
                                 HasSubstr(gateway.ring()), HasSubstr("wire to ring"),
                                 ContainsRegex("\nlines +test-top"), HasSubstr("\nlines  ")));
    const auto json = run({"top", "--once", "--format", "json", "--gateway", address});
    EXPECT_EQ(json.exit_code, 0) << json.err;
    EXPECT_THAT(json.out, AllOf(StartsWith("{\"now\":"), HasSubstr("\"feeds\":[{\"name\":\"f\"")));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST(Top, ShowsHowFullPoolsAre) {
    GatewayRun gateway{
        {.ring = unique_ring("pools"), .format = "itch", .feed = ",max_orders=16", .ring_more = ",max_instruments=16"}};
    const auto table = run({"top", "--once", "--gateway", metrics_address(gateway)});
    EXPECT_THAT(table.out, AllOf(ContainsRegex("instruments +ring 'test-pools[^ ]* +0 +16 +0.0% +0\n"),
                                 ContainsRegex("orders +feed 'f' +0 +16 +0.0% +0\n")));
    Program sender{
        {"generate", "--format", "itch", "--to", gateway.feed_address(), "--quiet", "--live", "--rate", "2000"}};
    const auto deadline = core::monotonic_nanos() + 60'000'000'000;
    std::string full;
    const std::regex refused{"orders +feed 'f' +[0-9]+ +16 +[0-9.]+% +[1-9]"};
    do {
        full = run({"top", "--once", "--gateway", metrics_address(gateway)}).out;
    } while (!std::regex_search(full, refused) && core::monotonic_nanos() < deadline);
    EXPECT_TRUE(std::regex_search(full, refused)) << full;
    EXPECT_EQ(gateway.end().exit_code, 0);
}

/// A health report with `count` feeds, sinks and findings, or with these findings, and the fields that the tables show.
std::string report(int count, const std::string& only_findings = {}) {
    std::string findings;
    std::string feeds;
    std::string sinks;
    for (int i = 0; i < count; ++i) {
        const char* const comma = i == 0 ? "" : ",";
        findings +=
            fmt::format(R"({}{{"stage":"gap","severity":"warning","of":"feed 'feed{}'","since":0,"text":"{:0>120}"}})",
                        comma, i, i);
        feeds += fmt::format(
            R"({}{{"name":"feed{}","packets_per_second":{},"quotes_per_second":{},"last_packet":0,"delay_ns":null,)"
            R"("missing":{},"undecodable":0,"kernel_drops":0,"instruments_halted":0,"instruments_incomplete":0}})",
            comma, i, i, i, count - i);
        sinks += fmt::format(
            R"({}{{"name":"sink{}","type":"tcp","clients":1,"connected":null,"ended":false,"behind":false,"queued":0,)"
            R"("lag_ns":{},"delivered_per_second":{},"conflated":0,"missed":0,"last_error":null}})",
            comma, i, i, i);
    }
    const std::string latency{R"({"recent":{"count":1,"mean":1,"p50":1,"p90":1,"p95":1,"p99":1,"p999":1,"max":1}})"};
    const auto ring = fmt::format(
        R"({{"name":"main","published_per_second":1,"instruments":1,"max_instruments":2,"memory":{{"mapped":1,"huge":0,)"
        R"("locked":0}},"wire":{0},"in_process":{0},"readers":[{{"name":"r","behind":0,"missed":0,"alive":false}}]}})",
        latency);
    return fmt::format(
        R"({{"now":1000,"started":0,"gateway":{{"name":"md","host":"h","version":"1.2.3","config":null}},"findings":[{}],"feeds":[{}],"rings":[{}],"pools":[],"sinks":[{}]}})",
        only_findings.empty() ? findings : only_findings, feeds, ring, sinks);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

TEST(Top, FitsTheTerminalAndKeepsWhatIsWrong) {
    for (const auto& [width, height] : {std::pair{80U, 24U}, {40U, 24U}, {80U, 10U}, {200U, 60U}, {20U, 3U}}) {
        for (const int count : {0, 1, 5, 40}) {
            const auto lines = lines_of(top_text({report(count)}, {.width = width, .height = height}));
            EXPECT_LE(lines.size(), height) << width << "x" << height << ", " << count;
            for (const auto& line : lines) EXPECT_LE(line.size(), width) << line;
            ASSERT_FALSE(lines.empty());
            EXPECT_THAT(lines.front(), StartsWith(count == 0 ? "healthy" : fmt::format("{} warning", count)));
        }
    }
    const auto small = top_text({report(40)}, {.width = 80, .height = 24});
    EXPECT_THAT(small, AllOf(HasSubstr("gap: feed 'feed0'"), ContainsRegex("  [0-9]+ more"), HasSubstr("sink0")));
}

/// An answer of /api/clients with as many clients, of which the last has lost most.
std::string client_list(int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
        list += fmt::format(
            R"({}{{"sink":"lines","peer":"10.0.0.{}:5000","name":"c{}","delivered_per_second":{},"queued":1,"lag_ns":{},)"
            R"("conflated":0,"missed":{}}})",
            i == 0 ? "" : ",", i, i, count - i, i == 0 ? 2'000'000'000 : 0, i / 2);
    }
    return R"({"now":1,"clients":[)" + list + "]}";
}

TEST(Top, ClientsThatLoseAndLagComeFirst) {
    const auto order_of = [](TopOrder order) {
        std::string names;
        for (const auto& line : lines_of(top_text({report(1), client_list(4)}, {.order = order}))) {
            if (line.starts_with("10.0.0.")) names += line.substr(7, 1);
        }
        return names;
    };
    EXPECT_EQ(order_of(TopOrder::configured), "2301");
    EXPECT_EQ(order_of(TopOrder::rate), "0123");
    EXPECT_EQ(order_of(TopOrder::lag), "0123");
    EXPECT_EQ(order_of(TopOrder::missed), "2301");
    EXPECT_EQ(order_of(TopOrder::name), "0123");
    const auto text = top_text({report(1), client_list(4)}, {.width = 100, .height = 24});
    EXPECT_THAT(text, AllOf(HasSubstr("CLIENT"), ContainsRegex("10.0.0.0:5000 +c0 +lines +4 +1 +2.0s +0 +0")));
    for (const auto& line : lines_of(top_text({report(40), client_list(200)}, {.width = 80, .height = 24})))
        EXPECT_LE(line.size(), 80U);
}

TEST(Top, TheFirstLineNamesTheGatewayAndItsConfiguration) {
    auto health = report(0);
    EXPECT_THAT(top_text({health}), StartsWith("healthy  md on h  up 1.0us  1.2.3"));
    const std::string none{R"("config":null)"};
    health.replace(health.find(none), none.size(), R"("config":{"file":"/etc/a.toml","changed":true})");
    EXPECT_THAT(top_text({health}),
                StartsWith("healthy  md on h  configuration changed since start  up 1.0us  1.2.3  /etc/a.toml\n"));
    EXPECT_EQ(lines_of(top_text({health}, {.width = 12, .height = 20})).front(), "healthy  md ");
}

TEST(Top, WhatIsWrongComesFirstNewestFirstAndKeepsItsRows) {
    const auto found = [](const char* stage, const char* severity, const char* of, int since) {
        return fmt::format(R"({{"stage":"{}","severity":"{}","of":"{}","since":{},"text":"{:x>200}"}})", stage,
                           severity, of, since, "");
    };
    const auto health = report(40, fmt::format("{},{},{}", found("gap", "warning", "feed 'feed7'", 990),
                                               found("stale", "error", "feed 'feed39'", 5),
                                               found("sink behind", "error", "sink 'sink38'", 900)));
    const auto text = top_text({health}, {.width = 80, .height = 24});
    const auto lines = lines_of(text);
    EXPECT_LE(lines.size(), 24U);
    const auto line_of = [&](std::string_view begin) {
        return std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(begin); }) -
               lines.begin();
    };
    EXPECT_LT(line_of("sink behind: "), line_of("stale: "));
    EXPECT_LT(line_of("stale: "), line_of("gap: "));
    EXPECT_THAT(lines[static_cast<std::size_t>(line_of("stale: "))], EndsWith("x..."));
    EXPECT_EQ(line_of("feed39 "), line_of("FEED ") + 1);
    EXPECT_EQ(line_of("feed7 "), line_of("FEED ") + 2);
    EXPECT_EQ(line_of("sink38 "), line_of("SINK ") + 1);
    EXPECT_LT(line_of("sink38 "), static_cast<std::ptrdiff_t>(lines.size())) << text;
}

TEST(Top, RowsAreSortedOnRequest) {
    const auto first_sink = [](TopOrder order) {
        const auto text = top_text({report(3)}, {.order = order});
        const auto at = text.find("\nsink") + 1;
        return text.substr(at, text.find(' ', at) - at);
    };
    EXPECT_EQ(first_sink(TopOrder::configured), "sink0");
    EXPECT_EQ(first_sink(TopOrder::rate), "sink2");
    EXPECT_EQ(first_sink(TopOrder::lag), "sink2");
    EXPECT_EQ(first_sink(TopOrder::name), "sink0");
    const auto by_missed = top_text({report(3)}, {.order = TopOrder::missed});
    EXPECT_LT(by_missed.find("\nfeed0"), by_missed.find("\nfeed2"));
}

TEST(Top, ColoursMarkOnlyWhatIsWrong) {
    EXPECT_THAT(top_text({report(1)}, {.colour = true}),
                AllOf(HasSubstr("\033[33m1 warning\033[0m"), HasSubstr("\033[31mdead")));
    EXPECT_THAT(top_text({report(0)}, {.colour = true}), StartsWith("\033[32mhealthy\033[0m  md on h  up "));
    EXPECT_THAT(top_text({report(1)}), Not(HasSubstr("\033")));
}

/// A session of a FIX engine's health report.
std::string session(const std::string& name, const std::string& state, int received, bool open = true) {
    return fmt::format(
        R"({{"name":"{}","state":"{}","enabled":true,"open":{},"peer":"10.0.0.1:9","next_sender":7,"next_target":8,)"
        R"("received":{},"sent":6,"resent":0,"rejected":2,"pending_bytes":0,"resending":false,"awaits_resend":false,)"
        R"("last_received":900,"last_sent":null,"latency":{{"count":1,"p50":1500,"p99":2500}}}})",
        name, state, open, received);
}

TEST(Top, ShowsTheSessionsOfAFixEngine) {
    const auto health = fmt::format(
        R"({{"now":1000,"started":0,"findings":[{{"stage":"disabled","severity":"info","of":"session 'B'","since":0,)"
        R"("text":"t"}}],"acceptors":["127.0.0.1:9878"],"sessions":[{},{}],"replicas":[{{"name":"C","peer":"",)"
        R"("whole":false,"promoted":false,"next_sender":3,"next_target":4}}]}})",
        session("A", "active", 5), session("B", "disconnected", 9, false));
    const auto history =
        R"({"sources":[{"kind":"session","name":"A","series":{"received_per_second":[0,1,null,7,14]}}]})";
    const auto shown = top_text({.health = health, .history = history});
    EXPECT_THAT(shown, AllOf(StartsWith("1 notice  1 of 2 logged on  up 1.0us  listening on 127.0.0.1:9878\n"),
                             ContainsRegex("\nB +outside its schedule +10.0.0.1:9 +7 +8 +6 +9 +0 +2 +0 +100ns +1.5us"),
                             ContainsRegex("\nC +gaps +3 +4\n")));
    EXPECT_THAT(shown, ContainsRegex("\nA +active .* 5 +▁▂ ▅█ +0 +2 +0 +100ns"));
    EXPECT_LT(shown.find("\nB "), shown.find("\nA ")) << "the one with a finding comes first";
    const auto by_name = top_text({health}, {.order = TopOrder::name});
    EXPECT_LT(by_name.find("\nA "), by_name.find("\nB "));
}

TEST(Top, OnATerminalQEndsItAndOldValuesAreGrey) {
    GatewayRun gateway{{.ring = unique_ring("keys"), .format = "quotes"}};
    int master = -1;
    int slave = -1;
    const winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
    termios before{};
    ASSERT_EQ(tcgetattr(slave, &before), 0);
    const auto address = metrics_address(gateway);  // not in the child: another thread may hold the lock of the output
    const auto child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
        for (const int fd : {0, 1, 2}) dup2(slave, fd);
        execl(MILLPOND_PROGRAM, "millpond", "top", "--gateway", address.c_str(), nullptr);
        _exit(127);
    }
    std::string screen;
    const auto shows = [&](std::string_view text) {
        while (screen.find(text) == std::string::npos) {
            pollfd ready{.fd = master, .events = POLLIN, .revents = 0};
            std::array<char, 4096> buffer;
            if (poll(&ready, 1, 60'000) != 1) return false;
            const auto got = read(master, buffer.data(), buffer.size());
            if (got <= 0) return false;
            screen.append(buffer.data(), static_cast<std::size_t>(got));
        }
        return true;
    };
    EXPECT_TRUE(shows("q quit")) << screen;
    EXPECT_THAT(screen, HasSubstr("waiting for the first"));
    EXPECT_EQ(gateway.end().exit_code, 0);
    EXPECT_TRUE(shows("Below is its last answer.")) << screen;
    screen.erase(0, screen.rfind("Below is its last answer."));
    EXPECT_TRUE(shows("q quit")) << screen;
    EXPECT_THAT(screen, HasSubstr("\033[2mf "));
    EXPECT_EQ(write(master, "q", 1), 1);
    EXPECT_TRUE(shows("\033[?1049l")) << screen;
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    termios after{};
    EXPECT_EQ(tcgetattr(slave, &after), 0);
    EXPECT_EQ(after.c_lflag, before.c_lflag);
    close(master);
    close(slave);
}

TEST(Top, AGatewayThatIsNotThereIsNamed) {
    const auto outcome = run({"top", "--once", "--gateway", "127.0.0.1:1"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("127.0.0.1:1: cannot connect: Connection refused"));
    EXPECT_EQ(run({"top", "--once", "--gateway", "nowhere"}).exit_code, 2);
}

}  // namespace
}  // namespace millpond::app
