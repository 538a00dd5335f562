// Errors at startup are one precise line; options that could not be honoured are logged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

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
        Refusal{"AddressThatIsNotOurs",
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

TEST(Gateway, AllErrorsOfAFileAreReportedAtOnce) {
    const test::ScratchFile file{test::scratch_name("faulty.toml"),
                                 "pin = -1\n[[feed]]\nlisten = '127.0.0.1:0'\n[[csv]]\npath = 'a'\nring = 'none'\n"};
    const auto outcome = run({"gateway", "--config", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(":1: key 'pin' of the top level expects an integer"));
    EXPECT_THAT(outcome.err, HasSubstr(":4: [[csv]] 'csv': ring 'none' does not exist"));
}

TEST(FixEngine, AllErrorsOfAFileAreReportedAtOnce) {
    const test::ScratchFile file{test::scratch_name("faulty.toml"),
                                 "threads = 900\n[[session]]\nsender = 'A'\ntarget = 'B'\nacceptor = 'none'\n"};
    const auto outcome = run({"fix", "acceptor", "--config", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(":1: key 'threads' of the top level expects an integer"));
    EXPECT_THAT(outcome.err, HasSubstr("acceptor 'none' does not exist"));
}

/// Output of a command that is limited to 400 MB of address space.
std::string output_without_memory(const std::string& arguments) {
    Program shell{"/bin/sh", {"-c", "ulimit -v 400000; exec " MILLPOND_PROGRAM " " + arguments}};
    const auto outcome = shell.wait();
    EXPECT_EQ(outcome.exit_code, 1) << arguments;
    return outcome.err;
}

TEST(Gateway, AShortageOfMemoryNamesTheSettingAndTheBytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer needs more address space";
#endif
    const auto gateway = [](const std::string& more) {
        return output_without_memory(
            "gateway --quiet --log-level error --metrics off --ring max_instruments=1024,name=" +
            unique_ring("memory") + " " + more);
    };
    const std::string feed = "--feed listen=127.0.0.1:0 ";
    for (const std::string sink : {"tcp", "web"}) {
        EXPECT_THAT(
            gateway(feed + "--" + sink + " listen=127.0.0.1:0,backlog=16777216"),
            ContainsRegex("millpond: sink '" + sink + "': backlog = 16777216 \\([0-9]{10,} bytes\\): out of memory\n"));
    }
    EXPECT_THAT(gateway("--feed listen=127.0.0.1:0,format=itch,max_orders=60000000"),
                HasSubstr("feed '127.0.0.1:0': books for max_orders = 60000000: out of memory\n"));
    EXPECT_THAT(gateway(feed + "--capture-buffer 2GiB --capture " + ::testing::TempDir()),
                ContainsRegex("capture_buffer = 2147483648: region: no space for [0-9]+ KiB in the address space"));
}

TEST(FixEngine, AShortageOfMemoryNamesTheSettingAndTheBytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer needs more address space";
#endif
    EXPECT_THAT(output_without_memory("fix acceptor --acceptor listen=127.0.0.1:0 "
                                      "--session sender=A,target=B,store=memory,max_message_bytes=1GiB"),
                HasSubstr("session FIX.4.4:A->B (max_message_bytes = 1073741824, "));
}

TEST(Gateway, RealtimeWithoutTheCapabilityIsRefusedByItsName) {
    const auto outcome = run_without_realtime({"gateway", "--ring", "name=" + unique_ring("realtime"), "--feed",
                                               "listen=127.0.0.1:0", "--metrics", "off", "--realtime", "50"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("realtime: SCHED_FIFO priority 50 was refused; grant CAP_SYS_NICE"));
}

/// Whether the system has free pages of 2 MiB.
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

}  // namespace
}  // namespace millpond::app
