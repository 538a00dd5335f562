#include "tests/apps/gateway_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/apps/program.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::app {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

/// Counts quotes, and checks that their feed numbers are consecutive.
struct Counter {
    void on(const feed::Quote& quote) {
        ++quotes;
        if (quote.feed_sequence != before + 1) ++out_of_order;
        before = quote.feed_sequence;
    }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap&) { ++gaps; }
    void on(const feed::Clear&) {
        ++clears;
        before = 0;
    }
    void on(const queue::MissedRange& range) { missed += range.count(); }
    std::uint64_t quotes{0};
    std::uint64_t gaps{0};
    std::uint64_t clears{0};
    std::uint64_t missed{0};
    std::uint64_t out_of_order{0};
    std::uint64_t before{0};
};

/// Sends a generated feed with `count` changes, and waits until `counter` has read `quotes` quotes in total.
void generate(const GatewayRun& gateway, std::uint64_t count, market::RingReader& reader, Counter& counter,
              std::uint64_t quotes, const std::string& rate = "20000") {
    const auto outcome = run({"generate", "--format", "quotes", "--count", std::to_string(count), "--rate", rate,
                              "--to", gateway.feed_address(), "--quiet", "--live"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (counter.quotes + counter.missed < quotes && core::monotonic_nanos() < deadline) {
        if (reader.poll(counter, 1'024) == 0) usleep(1'000);
    }
}

TEST(StandardDescriptors, NoFileOfTheGatewayTakesTheNumberOfAClosedOne) {
    const auto ring = unique_ring("closed-descriptors");
    // The gateway prints its addresses on standard error; its standard output must not reach a ring.
    Program gateway{"/bin/sh",
                    {"-c", fmt::format("exec '{}' gateway --ring name={},huge_pages=none --metrics 127.0.0.1:0"
                                       " --feed name=f,listen=127.0.0.1:0,format=quotes <&- >&-",
                                       MILLPOND_PROGRAM, ring)}};
    ASSERT_TRUE(gateway.prints("listens on "));
    for (const auto* const number : {"0", "1"}) {
        const auto link = fmt::format("/proc/{}/fd/{}", gateway.pid(), number);
        EXPECT_EQ(std::filesystem::read_symlink(link), "/dev/null") << number;
    }
    gateway.signal(SIGTERM);
    EXPECT_EQ(gateway.wait().exit_code, 1);  // standard output could not be written
}

TEST(Gateway, EndsCleanlyAndLeavesNoNameBehind) {
    GatewayRun gateway{{.ring = unique_ring("clean"), .format = "quotes", .more = {"--tcp", "listen=127.0.0.1:0"}}};
    EXPECT_EQ(gateway.shared_names().size(), 3U);  // the ring, its lock, and its one reader
    test::LineClient client{gateway.tcp_port("tcp")};
    EXPECT_THAT(gateway.page("/health"), HasSubstr("200 OK"));
    EXPECT_THAT(gateway.page("/metrics"),
                AllOf(HasSubstr("millpond_wire_to_ring_seconds_bucket{"), HasSubstr("millpond_build_info{commit=\""),
                      HasSubstr("# TYPE millpond_finding gauge")));
    EXPECT_THAT(gateway.page("/nothing"), HasSubstr("404 Not Found"));
    const auto outcome = gateway.end();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(gateway.shared_names(), IsEmpty());
    while (!client.over()) {
        client.wait();
        client.receive();
    }
    EXPECT_THAT(client.lines().back(), HasSubstr("the gateway is stopping"));
}

TEST(Gateway, ItsThreadsHaveTheNamesThatTheOperatorsPageLists) {
    const auto folder = std::filesystem::temp_directory_path() / unique_ring("names");
    GatewayRun gateway{{.ring = unique_ring("n"),
                        .format = "itch",
                        .feed = ",rebuild=true,rerequest=127.0.0.1:9",
                        .more = {"--tcp", "listen=127.0.0.1:0,name=lines", "--journal", "folder=" + folder.string()}}};
    const auto names_now = [&gateway] {
        std::set<std::string> names;
        const auto tasks = "/proc/" + std::to_string(gateway.program().pid()) + "/task";
        for (const auto& task : std::filesystem::directory_iterator{tasks}) {
            std::string name;
            std::getline(std::ifstream{task.path() / "comm"}, name);
            names.insert(name);
        }
        return names;
    };
    // Each thread sets its name, possibly after the gateway has reported that it is ready.
    const auto receiving = ("rx " + gateway.ring()).substr(0, 15);
    const auto all = IsSupersetOf({receiving.c_str(), "lines", "journal", "journal files", "books f", "metrics"});
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    auto names = names_now();
    while (!::testing::Matches(all)(names) && std::chrono::steady_clock::now() < patience) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        names = names_now();
    }
    EXPECT_THAT(names, all);
    EXPECT_EQ(gateway.end().exit_code, 0);
    std::filesystem::remove_all(folder);
}

TEST(Gateway, ABenchmarkPrintsTheLatenciesOfAllItsQuotesAtTheEnd) {
    GatewayRun gateway{{.ring = unique_ring("benchmark"), .format = "quotes", .more = {"--benchmark"}}};
    market::RingReader reader{{.name = gateway.ring()}};
    Counter counter;
    reader.join(counter);
    generate(gateway, 200, reader, counter, 200);
    EXPECT_EQ(counter.quotes, 200U);
    const auto outcome = gateway.end();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, ContainsRegex("events +average +p50 +p95\n"));
    constexpr auto* kNumbers = "' +200( +[0-9]+\\.[0-9]+){3}\n";
    EXPECT_THAT(outcome.out, ContainsRegex("wire to ring '" + gateway.ring() + kNumbers));
    EXPECT_THAT(outcome.out, ContainsRegex("receive to ring '" + gateway.ring() + kNumbers));
}

TEST(Gateway, ASecondOneOnTheSameRingIsRefusedByName) {
    GatewayRun first{{.ring = unique_ring("twice"), .format = "quotes"}};
    const auto second =
        run({"gateway", "--ring", "name=" + first.ring(), "--feed", "listen=127.0.0.1:0", "--metrics", "off"});
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.err, HasSubstr("millpond." + first.ring()));
    EXPECT_THAT(second.err, HasSubstr(std::to_string(first.program().pid())));
    EXPECT_EQ(first.end().exit_code, 0);
}

TEST(Gateway, AStuckClientAndAFullDiskDisturbNoOtherConsumer) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    GatewayRun gateway{
        {.ring = unique_ring("p4"),
         .format = "quotes",
         .more = {"--tcp", "name=stuck,listen=127.0.0.1:0,backlog=64,send_buffer=4KiB", "--tcp",
                  "name=good,listen=127.0.0.1:0,backlog=65536,stall_seconds=600", "--csv", "path=/dev/full"}}};
    test::LineClient stuck{gateway.tcp_port("stuck"), 4'096};
    test::LineClient good{gateway.tcp_port("good")};
    ASSERT_TRUE(gateway.program().prints(
        "tcp sink 'good': client"));  // the client receives a line for every event from here on
    market::RingReader reader{{.name = gateway.ring()}};
    Counter counter;
    reader.join(counter);
    constexpr std::uint64_t kQuotes = 20'000;
    generate(gateway, kQuotes, reader, counter, kQuotes);
    EXPECT_EQ(counter.quotes, kQuotes);
    EXPECT_EQ(counter.missed + counter.gaps + counter.out_of_order, 0U);
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (good.lines().size() < kQuotes && core::monotonic_nanos() < deadline) {
        good.wait();
        good.receive();
    }
    EXPECT_EQ(good.lines().size(), kQuotes);
    for (const auto& line : good.lines()) ASSERT_THAT(line, HasSubstr("\"type\":\"quote\""));
    const auto outcome = gateway.end();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("sink 'good': published 20000 = delivered 20000"));
    EXPECT_THAT(outcome.err,
                HasSubstr("sink 'csv': published 20000 = delivered 0 + filtered 0 + conflated 0 + missed 0 + "
                          "queued 20000"));
    EXPECT_THAT(outcome.err, HasSubstr("cannot write '/dev/full': No space left on device"));
}

TEST(Gateway, AfterKillNineAnotherGoesOnWithTheRingAndItsReadersCloseTheirAccounts) {
    const auto ring = unique_ring("kill");
    constexpr std::uint64_t kQuotes = 2'000;
    GatewayRun first{{.ring = ring, .format = "quotes"}};
    market::RingReader reader{{.name = ring}};
    Counter counter;
    reader.join(counter);
    generate(first, kQuotes, reader, counter, kQuotes);
    first.program().signal(SIGKILL);
    EXPECT_EQ(first.program().wait().exit_code, 128 + SIGKILL);
    EXPECT_FALSE(reader.has_writer());
    EXPECT_THAT(first.shared_names(), Not(IsEmpty()));
    GatewayRun second{{.ring = ring, .format = "quotes"}};
    EXPECT_TRUE(second.program().prints("continues the ring of an earlier run"));
    generate(second, kQuotes, reader, counter, 2 * kQuotes);
    EXPECT_EQ(counter.quotes, 2 * kQuotes);
    EXPECT_EQ(counter.missed, 0U);
    EXPECT_GE(counter.clears, 1U);
    const auto account = reader.account();
    EXPECT_EQ(account.published, account.delivered + account.filtered + account.missed + account.queued);
    EXPECT_EQ(account.queued, 0U);
    EXPECT_EQ(second.end().exit_code, 0);
    EXPECT_THAT(second.shared_names(), IsEmpty());
}

TEST(Gateway, TailPrintsTheBoardThenEventsAndSaysWhatBecameOfThem) {
    GatewayRun gateway{{.ring = unique_ring("tail"), .format = "quotes"}};
    market::RingReader reader{{.name = gateway.ring()}};
    Counter counter;
    reader.join(counter);
    generate(gateway, 100, reader, counter, 100);
    Program tail{{"tail", "--ring", gateway.ring(), "--format", "csv"}};
    ASSERT_TRUE(tail.prints("flags\n1"));  // a row of the board: tail has joined
    generate(gateway, 500, reader, counter, 600);
    EXPECT_EQ(gateway.end().exit_code, 0);
    const auto outcome = tail.wait();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out,
                HasSubstr("timestamp,symbol,bid_price,bid_shares,ask_price,ask_shares,spread,channel,flags\n"));
    EXPECT_THAT(outcome.err,
                ContainsRegex("end of stream; writer closed; board [1-9][0-9]*; published 501 = delivered 500 \\+ "
                              "filtered 1 \\+ missed 0 \\+ queued 0"));  // CSV has no row for the end of the session
}

TEST(Gateway, TailOfOneSymbolCountsTheOthersAsFiltered) {
    GatewayRun gateway{{.ring = unique_ring("tail_one"), .format = "quotes"}};
    market::RingReader reader{{.name = gateway.ring()}};
    Counter counter;
    reader.join(counter);
    generate(gateway, 100, reader, counter, 100);
    const std::string symbol{reader.instrument(0)->symbol.view()};
    Program tail{{"tail", "--ring", gateway.ring(), "--format", "csv", "--symbol", symbol}};
    ASSERT_TRUE(tail.prints("flags\n1"));
    generate(gateway, 500, reader, counter, 600);
    EXPECT_EQ(gateway.end().exit_code, 0);
    const auto outcome = tail.wait();
    EXPECT_EQ(outcome.exit_code, 0);
    // The first two lines are the header and the board's row.
    const auto rows = std::ranges::count(outcome.out, '\n') - 2;
    EXPECT_GT(rows, 0);
    EXPECT_THAT(outcome.err, HasSubstr(fmt::format("published 501 = delivered {} + filtered {} + missed 0 + queued 0",
                                                   rows, 501 - rows)));
}

TEST(Gateway, TailNamesASymbolThatNoInstrumentHas) {
    GatewayRun gateway{{.ring = unique_ring("tail_none"), .format = "quotes"}};
    market::RingReader reader{{.name = gateway.ring()}};
    Counter counter;
    reader.join(counter);
    generate(gateway, 100, reader, counter, 100);
    const std::string symbol{reader.instrument(0)->symbol.view()};
    auto lower = symbol;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    Program tail{{"tail", "--ring", gateway.ring(), "--symbol", lower, "--symbol", symbol, "--symbol", "NONE"}};
    EXPECT_TRUE(tail.prints(fmt::format("millpond: tail: no instrument 'NONE' on ring '{}' yet\n", gateway.ring())));
    EXPECT_TRUE(tail.prints(
        fmt::format("no instrument '{}' on ring '{}' yet; there is '{}'\n", lower, gateway.ring(), symbol)));
    EXPECT_TRUE(tail.prints(symbol + " "));
    EXPECT_EQ(gateway.end().exit_code, 0);
    const auto outcome = tail.wait();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, Not(HasSubstr(fmt::format("no instrument '{}'", symbol))));
}

TEST(Gateway, LogLinesThatDoNotFitAreCountedAsLogLines) {
    GatewayRun gateway{{.ring = unique_ring("lines"), .format = "quotes"}};
    net::UdpSender sender{{.to = net::SocketAddress::parse(gateway.feed_address())}};
    constexpr int kFarMoreThanFit = 20'000;
    constexpr std::array<std::byte, 3> kNoDatagramOfQuotes{};
    for (int i = 0; i < kFarMoreThanFit; ++i) static_cast<void>(sender.send(kNoDatagramOfQuotes));
    EXPECT_TRUE(gateway.program().prints(" more log lines about its feeds were left out"));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST(Gateway, TailPrintsExactlyAsManyEventsAsAskedFor) {
    GatewayRun gateway{{.ring = unique_ring("count"), .format = "quotes"}};
    market::RingReader reader{{.name = gateway.ring()}};
    Counter counter;
    reader.join(counter);
    generate(gateway, 500, reader, counter, 500);
    // The board has more quotes than requested.
    for (const auto* const count : {"1", "7", "60"}) {
        const auto outcome = run({"tail", "--ring", gateway.ring(), "--format", "csv", "--count", count});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        const auto lines = std::ranges::count(outcome.out, '\n');
        EXPECT_EQ(lines, 1 + std::stol(count)) << "the head and " << count << " rows";
    }
    EXPECT_EQ(gateway.end().exit_code, 0);
}

}  // namespace
}  // namespace millpond::app
