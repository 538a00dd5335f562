#include "tests/apps/gateway_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>

#include "tests/apps/program.hpp"
#include "tests/net/path_available.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kPatienceNs = 60'000'000'000;

/// Counts what it reads, and checks that the bids' feed numbers go on one by one.
struct Counter {
    void on(const feed::Quote& quote) {
        ++quotes;
        if (quote.feed_sequence != before + 1) ++out_of_order;
        before = quote.feed_sequence;
    }
    void on(const feed::Trade&) {}
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

/// Sends a generated feed of that many changes and waits until `counter` has read `quotes` in all.
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

TEST(Gateway, EndsCleanlyAndLeavesNoNameBehind) {
    GatewayRun gateway{{.ring = unique_ring("clean"), .format = "quotes", .more = {"--tcp", "listen=127.0.0.1:0"}}};
    EXPECT_EQ(gateway.shared_names().size(), 2U);
    test::LineClient client{gateway.tcp_port("tcp")};
    EXPECT_THAT(gateway.page("/health"), HasSubstr("200 OK"));
    EXPECT_THAT(gateway.page("/metrics"), HasSubstr("millpond_wire_to_ring_seconds"));
    EXPECT_THAT(gateway.page("/nothing"), HasSubstr("404 Not Found"));
    const auto outcome = gateway.end();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(gateway.shared_names(), IsEmpty());
    while (!client.over()) {
        client.wait();
        client.receive();
    }
    EXPECT_THAT(client.lines().back(), HasSubstr("the gateway ends"));
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

TEST(Gateway, ReceivesByIoUringWhatWasSent) {
    const auto why = net::test::lacks_path({.local = net::SocketAddress::parse("127.0.0.1:0"),
                                            .path = net::ReceivePath::io_uring,
                                            .path_want = net::Want::require});
    if (!why.empty()) GTEST_SKIP() << why;
    GatewayRun gateway{{.ring = unique_ring("uring"),
                        .format = "quotes",
                        .more = {"--receive", "io_uring", "--receive-want", "require"}}};
    EXPECT_EQ(gateway.said(", by "), "io_uring");
    market::RingReader reader{{.name = gateway.ring()}};
    Counter counter;
    reader.join(counter);
    ASSERT_NO_FATAL_FAILURE(generate(gateway, 5'000, reader, counter, 5'000));
    EXPECT_EQ(counter.quotes, 5'000U);
    EXPECT_EQ(counter.gaps + counter.missed + counter.out_of_order, 0U);
    EXPECT_EQ(gateway.metric("millpond_feed_datagrams_total"), gateway.metric("millpond_feed_messages_total"));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST(Gateway, AStuckClientAndAFullDiskDisturbNobody) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    GatewayRun gateway{
        {.ring = unique_ring("p4"),
         .format = "quotes",
         .more = {"--tcp", "name=stuck,listen=127.0.0.1:0,backlog=64,send_buffer=4KiB", "--tcp",
                  "name=good,listen=127.0.0.1:0,backlog=65536,stall_seconds=600", "--csv", "path=/dev/full"}}};
    test::LineClient stuck{gateway.tcp_port("stuck"), 4'096};
    test::LineClient good{gateway.tcp_port("good")};
    ASSERT_TRUE(gateway.program().says("tcp sink 'good': client"));  // from here on every event is a line to it
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
    EXPECT_TRUE(second.program().says("goes on with the ring of an earlier run"));
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
    ASSERT_TRUE(tail.says("spread\n1"));  // a row of the board: it has joined
    generate(gateway, 500, reader, counter, 600);
    EXPECT_EQ(gateway.end().exit_code, 0);
    const auto outcome = tail.wait();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("timestamp,symbol,bid_price,bid_shares,ask_price,ask_shares,spread\n"));
    EXPECT_THAT(outcome.err,
                HasSubstr("the stream is over; writer closed; published 501 = delivered 501 + filtered 0 + "
                          "missed 0 + queued 0"));
}

struct Refusal {
    std::string name;
    std::vector<std::string> arguments;
    int exit_code;
    std::string message;
};

class GatewayRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(GatewayRefusal, IsOnePreciseLine) {
    auto arguments = GetParam().arguments;
    arguments.insert(arguments.begin(), "gateway");
    arguments.insert(arguments.end(), {"--ring", "name=" + unique_ring("refusal")});
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, GetParam().exit_code);
    EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
        EXPECT_THAT(entry.path().string(), Not(HasSubstr(unique_ring("refusal"))));
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, GatewayRefusal,
    ::testing::Values(
        Refusal{"NoFeed", {"--metrics", "off"}, 2, "no feed"},
        Refusal{"UnknownKey",
                {"--feed", "listen=127.0.0.1:0,fromat=itch"},
                2,
                "millpond: --feed: unknown key 'fromat' of [[feed]]; did you mean 'format'?\n"},
        Refusal{"MissingFile", {"--config", "/nonexistent.toml"}, 1, "millpond: /nonexistent.toml: cannot read"},
        Refusal{
            "UnknownInterface", {"--metrics", "off", "--feed", "listen=239.1.1.1:0,interface=nosuch0"}, 1, "nosuch0"},
        Refusal{"MissingSymbols",
                {"--metrics", "off", "--feed", "listen=127.0.0.1:0,format=miax-tom,symbols=/nonexistent.csv"},
                1,
                "millpond: feed '127.0.0.1:0': cannot read '/nonexistent.csv': No such file or directory\n"},
        Refusal{"UnwritableCsv",
                {"--metrics", "off", "--feed", "listen=127.0.0.1:0", "--csv", "path=/nonexistent/q.csv"},
                1,
                "csv sink 'csv': cannot open '/nonexistent/q.csv': No such file or directory\n"},
        Refusal{"AddressOfNobody",
                {"--metrics", "off", "--feed", "listen=127.0.0.1:0", "--tcp", "listen=192.0.2.1:9100"},
                1,
                "tcp sink 'tcp': cannot listen on 192.0.2.1:9100: Cannot assign requested address\n"},
        Refusal{"PinToNoProcessor",
                {"--metrics", "off", "--feed", "listen=127.0.0.1:0", "--pin", "1000"},
                1,
                "may not run on processor 1000"},
        Refusal{"SinkPinnedToNoProcessor",
                {"--metrics", "off", "--feed", "listen=127.0.0.1:0", "--tcp", "listen=127.0.0.1:0,pin=1000"},
                1,
                "millpond: sink 'tcp': pin: this thread may not run on processor 1000"}),
    [](const auto& refusal) { return refusal.param.name; });

TEST(Gateway, RealtimeWithoutTheCapabilityIsRefusedByItsName) {
    const auto outcome = run_without_realtime({"gateway", "--ring", "name=" + unique_ring("realtime"), "--feed",
                                               "listen=127.0.0.1:0", "--metrics", "off", "--realtime", "50"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("realtime: SCHED_FIFO priority 50 was refused; grant CAP_SYS_NICE"));
}

/// Whether the system has pages of 2 MiB that a gateway could take.
bool has_free_huge_pages() {
    std::ifstream info{"/proc/meminfo"};
    std::string line;
    while (std::getline(info, line)) {
        if (line.starts_with("HugePages_Free:")) return std::atol(line.c_str() + line.find(':') + 1) != 0;
    }
    return false;
}

TEST(Gateway, RequiredHugePagesThatAreNotThereAreAnErrorThatNamesTheSetting) {
    if (has_free_huge_pages()) GTEST_SKIP() << "this system has free huge pages";
    const auto ring = unique_ring("huge");
    const auto outcome = run({"gateway", "--ring", "name=" + ring + ",huge_pages=require", "--feed",
                              "listen=127.0.0.1:0", "--metrics", "off"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, ::testing::StartsWith("millpond: ring '" + ring + "': huge pages: "));
    EXPECT_THAT(outcome.err, ::testing::AnyOf(HasSubstr("hugetlbfs"), HasSubstr("nr_hugepages")));
    EXPECT_THAT(outcome.err, HasSubstr("prefer"));
}

TEST(Gateway, PreferredHugePagesThatAreNotThereAreLoggedAsAShortfall) {
    if (has_free_huge_pages()) GTEST_SKIP() << "this system has free huge pages";
    GatewayRun gateway{{.ring = unique_ring("huge"), .format = "quotes", .huge_pages = "prefer"}};
    const auto outcome = gateway.end();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("0.0 MiB in huge pages"));
    EXPECT_THAT(outcome.err, HasSubstr("warning ring '" + gateway.ring() + "': huge pages: asked for "));
}

TEST(Gateway, APortInUseIsNamed) {
    GatewayRun first{{.ring = unique_ring("port"), .format = "quotes", .more = {"--tcp", "listen=127.0.0.1:0"}}};
    const auto address = "127.0.0.1:" + std::to_string(first.tcp_port("tcp"));
    const auto second = run({"gateway", "--ring", "name=" + unique_ring("port2"), "--metrics", "off", "--feed",
                             "listen=127.0.0.1:0", "--tcp", "listen=" + address});
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.err, HasSubstr("tcp sink 'tcp': cannot listen on " + address + ": Address already in use\n"));
    EXPECT_EQ(first.end().exit_code, 0);
}

TEST(Demo, APortThatIsTakenIsNamedAndTheNextFreeOneTaken) {
    const auto folder = std::filesystem::temp_directory_path() / unique_ring("demo");
    std::filesystem::create_directories(folder);
    const auto demo = [&](const std::string& name) {
        return std::vector<std::string>{"gateway",     "--demo",
                                        "--demo-rate", "100",
                                        "--ring",      "name=" + unique_ring(name),
                                        "--csv",       "path=" + (folder / name).string()};
    };
    Program first{demo("demo-first")};
    ASSERT_TRUE(first.says("Ctrl-C ends it."));
    Program second{demo("demo-second")};
    ASSERT_TRUE(second.says("Ctrl-C ends it."));
    EXPECT_NE(second.word_behind("page: "), first.word_behind("page: "));
    for (auto* program : {&second, &first}) program->signal(SIGTERM);
    EXPECT_THAT(second.wait().err, HasSubstr("millpond: demo: 127.0.0.1:9465 is taken: the page is at 127.0.0.1:94"));
    EXPECT_EQ(first.wait().exit_code, 0);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace millpond::app
