// Tests of `millpond demo`.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/files/pcap_writer.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/gateway/port_lock.hpp"
#include "apps/millpond/traffic/capture_format.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/http_page.hpp"
#include "tests/apps/itch_session.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Demo : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::vector<std::string> demo(const std::string& name, std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"demo", "--rate", "100", "--ring", "name=" + unique_ring(name), "--csv",
                                   "path=" + (folder_ / name).string()});
        return more;
    }

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

private:
    std::filesystem::path folder_{std::filesystem::temp_directory_path() / unique_ring("demo")};
};

/// A socket at 127.0.0.1:9465, unless another process of this machine has it, such as a demo.
class PagesPort {
public:
    PagesPort() {
        const PortLock lock;  // not between a demo's choice of the port and its use
        try {
            acceptor_.emplace(io_, Tcp::endpoint{boost::asio::ip::address_v4::loopback(), 9465});
        } catch (const boost::system::system_error&) {
            acceptor_.reset();
        }
    }
    [[nodiscard]] bool is_ours() const { return acceptor_.has_value(); }

private:
    using Tcp = boost::asio::ip::tcp;
    boost::asio::io_context io_;
    std::optional<Tcp::acceptor> acceptor_;
};

TEST_F(Demo, APortInUseIsNamedAndTheNextFreeOneIsUsed) {
    for (bool was_free = true; was_free;) {
        const PagesPort port;
        Program program{demo("demo-taken")};
        ASSERT_TRUE(program.prints("Ctrl-C stops it."));
        const auto page = program.word_after("page: ");
        program.signal(SIGTERM);
        const auto ended = program.wait();
        EXPECT_EQ(ended.exit_code, 0);
        was_free = !port.is_ours() && page == "http://127.0.0.1:9465/";  // the other process had just ended
        if (was_free) continue;
        EXPECT_THAT(page, StartsWith("http://127.0.0.1:94"));
        EXPECT_THAT(ended.err, HasSubstr("millpond: demo: 127.0.0.1:9465 is in use, so the page is at 127.0.0.1:94"));
    }
}

TEST_F(Demo, ARingInUseIsNamedAndTheNextFreeOneIsUsed) {
    std::vector<std::unique_ptr<Program>> all;
    std::set<std::string> rings;
    for (int i = 0; i < 2; ++i) {
        all.push_back(std::make_unique<Program>(std::vector<std::string>{"demo", "--rate", "100"}));
        ASSERT_TRUE(all.back()->prints("Ctrl-C stops it.")) << all.back()->output();
        rings.insert(all.back()->word_after("python: millpond.Ring("));
    }
    EXPECT_EQ(rings.size(), all.size());
    for (const auto& ring : rings) EXPECT_THAT(ring, StartsWith("\"demo"));
    for (auto& program : all) program->signal(SIGTERM);
    const auto first = all[0]->wait();
    const auto second = all[1]->wait();
    EXPECT_EQ(first.exit_code, 0);
    EXPECT_EQ(second.exit_code, 0);
    EXPECT_THAT(second.err, HasSubstr("millpond: demo: ring 'demo' is in use, so the ring is 'demo-"));
}

TEST_F(Demo, ThoseThatBeginAtOnceHavePortsOfTheirOwn) {
    std::vector<std::unique_ptr<Program>> all;
    for (int i = 0; i < 4; ++i) all.push_back(std::make_unique<Program>(demo(fmt::format("demo-at-once-{}", i))));
    std::set<std::string> pages;
    for (auto& program : all) {
        ASSERT_TRUE(program->prints("Ctrl-C stops it.")) << program->wait(std::chrono::seconds{0}).err;
        pages.insert(program->word_after("page: "));
    }
    EXPECT_EQ(pages.size(), all.size());
    for (auto& program : all) program->signal(SIGTERM);
    for (auto& program : all) EXPECT_EQ(program->wait().exit_code, 0);
}

/// A generated capture in this format.
std::string capture_of(const std::filesystem::path& folder, const std::string& format) {
    auto path = (folder / (format + ".pcap")).string();
    EXPECT_EQ(run({"generate", "--out", path, "--format", format, "--count", "300"}).exit_code, 0);
    return path;
}

TEST_F(Demo, TheFormatOfACaptureIsDetected) {
    for (const std::string format : {"itch", "quotes", "miax-tom", "iex-tops", "iex-deep", "iex-deep-plus"}) {
        const auto path = capture_of(folder(), format);
        EXPECT_EQ(format_of_capture(path, ""), format);
        EXPECT_EQ(format_of_capture(path, format), format);
    }
    const auto without_header = capture_of(folder(), "bbo28");
    EXPECT_EQ(format_of_capture(without_header, "bbo28"), "bbo28");
    EXPECT_THROW(static_cast<void>(format_of_capture(without_header, "")), UsageError);
    Program program{demo("demo-itch", {"--replay", capture_of(folder(), "itch"), "--speed", "max"})};
    ASSERT_TRUE(program.prints("Ctrl-C stops it."));
    Program tail{{"tail", "--ring", unique_ring("demo-itch"), "--count", "1"}};
    EXPECT_EQ(tail.wait().exit_code, 0);
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait().exit_code, 0);
}

TEST_F(Demo, RealCapturesAreDetected) {
    const char* const data = std::getenv("MILLPOND_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): never set here
    if (data == nullptr) GTEST_SKIP() << "MILLPOND_TEST_DATA is not set";
    const std::string at{data};
    EXPECT_EQ(format_of_capture(at + "/Multiple.Packets.pcap", ""), "itch");
    EXPECT_EQ(format_of_capture(at + "/Miax.Tom.Mach.v1.9.Example.pcap", ""), "miax-tom");
    for (const auto& file : std::filesystem::directory_iterator{at + "/iex"}) {
        const auto name = file.path().filename().string();
        const auto* const format = name.starts_with("Tops")    ? "iex-tops"
                                   : name.starts_with("Deep.") ? "iex-deep"
                                                               : "iex-deep-plus";
        EXPECT_EQ(format_of_capture(file.path(), ""), format) << file.path();
    }
}

TEST_F(Demo, AWrongFormatIsRefusedWithWhatWasFound) {
    const auto itch = capture_of(folder(), "itch");
    const auto refusal = [&](const std::string& feed, const std::string& format) {
        const auto outcome = run(demo("demo-wrong", {"--replay", feed, "--format", format}));
        EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
        return outcome.err;
    };
    EXPECT_THAT(refusal(itch, "miax-tom"), HasSubstr("datagrams of '" + itch +
                                                     "' is of format miax-tom: they are of "
                                                     "format itch"));
    const test::ScratchFile file{test::scratch_name("demo-wrong.itch"), ItchSession{5}.file()};
    EXPECT_THAT(refusal(file.path(), "quotes"), HasSubstr("--format quotes: '" + file.path() + "' is of format itch"));
    std::string bytes;
    files::append_pcap_header(bytes);
    const std::array<std::byte, 40> other{std::byte{0xAB}};
    ASSERT_TRUE(files::append_pcap_datagram(bytes, {.utc_ns = 1,
                                                    .source = net::SocketAddress::parse("10.0.0.1:1"),
                                                    .destination = net::SocketAddress::parse("239.1.1.1:14000"),
                                                    .payload = other}));
    const test::ScratchFile unknown{test::scratch_name("demo-unknown.pcap"), bytes};
    EXPECT_THAT(run(demo("demo-unknown", {"--replay", unknown.path()})).err,
                HasSubstr("datagrams, of which the first has 40 bytes to 239.1.1.1:14000 that begin with ab00"));
    std::string empty;
    files::append_pcap_header(empty);
    const test::ScratchFile nothing{test::scratch_name("demo-nothing.pcap"), empty};
    EXPECT_THAT(run(demo("demo-nothing", {"--replay", nothing.path()})).err,
                HasSubstr("has no UDP datagram among its 0 frames"));
}

/// The commands that the hints print between "more commands:" and "Ctrl-C stops it."
std::vector<std::string> hinted_commands(const std::string& output) {
    std::vector<std::string> commands;
    std::istringstream lines{output.substr(output.find("more commands:"))};
    for (std::string line; std::getline(lines, line) && line != "Ctrl-C stops it.";) {
        if (line.starts_with("  ")) commands.push_back(line.substr(2));
    }
    return commands;
}

TEST_F(Demo, EachHintWorksAsPrintedInAShell) {
    Program program{{"demo", "--rate", "500", "--ring", "name=" + unique_ring("demo-hints")}};
    ASSERT_TRUE(program.prints("Ctrl-C stops it."));
    EXPECT_THAT(program.output(), HasSubstr("python: millpond.Ring(\""));
    const auto commands = hinted_commands(program.output());
    EXPECT_THAT(commands, ElementsAre(HasSubstr(" tail --ring "), HasSubstr(" --depth 5"), HasSubstr(" top --gateway "),
                                      HasSubstr("/dev/tcp/"), StartsWith("tail -f "),
                                      HasSubstr(" fix acceptor --fill "), HasSubstr(" fix initiator ")));
    // Part of each command's output: the table's header, a book, the gateway's health, a JSON line, CSV rows, the
    // acceptor's log, and the fill.
    const std::vector<std::string> shown{"bid", " | ",          "ring",      R"("type":"quote")",
                                         ",0,", "listening on", "ExecType=F"};
    std::vector<std::unique_ptr<Program>> hints;  // the acceptor runs until the end
    for (std::size_t i = 0; i < commands.size(); ++i) {
        hints.push_back(std::make_unique<Program>("sh", std::vector<std::string>{"-c", "exec " + commands[i]}));
        EXPECT_TRUE(hints.back()->prints(shown[i])) << commands[i] << '\n' << hints.back()->output();
    }
    const auto metrics = program.word_after("metrics: http://");
    const auto slash = metrics.find('/');
    const auto port = net::SocketAddress::parse(metrics.substr(0, slash)).port();
    EXPECT_THAT(page_of(port, metrics.substr(slash)), HasSubstr("\nmillpond_"));
    program.signal(SIGINT);
    EXPECT_EQ(program.wait().exit_code, 0);
}

TEST_F(Demo, HintsNameTheProgramWhereThePathFindsIt) {
    const std::filesystem::path program{MILLPOND_PROGRAM};
    const auto arguments = " demo --rate 100 --ring name=" + unique_ring("demo-path");
    const auto start = [&](const std::string& before) {
        return std::make_unique<Program>(
            "sh", std::vector<std::string>{"-c", before + "; exec " + program.string() + arguments});
    };
    const auto of = [](const std::unique_ptr<Program>& demo) {
        EXPECT_TRUE(demo->prints("Ctrl-C stops it.")) << demo->output();
        const auto first = hinted_commands(demo->output()).front();
        demo->signal(SIGTERM);
        EXPECT_EQ(demo->wait().exit_code, 0);
        return first.substr(0, first.find(" tail"));
    };
    EXPECT_EQ(of(start("PATH=" + program.parent_path().string() + ":$PATH")), "millpond");
    EXPECT_EQ(of(start("cd " + program.parent_path().parent_path().string())),
              "./" + program.parent_path().filename().string() + "/millpond");
    EXPECT_EQ(of(start("cd /")), "." + program.string());
    EXPECT_EQ(of(start("cd /usr")), program.string());
}

TEST_F(Demo, NothingIsLeftBehindInTheTemporaryFolder) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        const auto temporary = folder() / fmt::format("temporary-{}", number);
        std::filesystem::create_directories(temporary);
        Program program{"env",
                        {"TMPDIR=" + temporary.string(), MILLPOND_PROGRAM, "demo", "--rate", "100", "--ring",
                         "name=" + unique_ring("demo-left")}};
        ASSERT_TRUE(program.prints("Ctrl-C stops it."));
        EXPECT_FALSE(std::filesystem::is_empty(temporary));
        program.signal(number);
        EXPECT_EQ(program.wait().exit_code, 0);
        EXPECT_TRUE(std::filesystem::is_empty(temporary)) << number;
    }
}

TEST_F(Demo, WhatAKilledOneLeftIsRemovedByTheNextAndNothingElse) {
    const auto temporary = folder() / "temporary";
    std::filesystem::create_directories(temporary / "millpond-demo.notes");
    std::ofstream{temporary / "millpond-demo.notes" / "mine"} << "text";
    std::filesystem::create_directory_symlink(folder(), temporary / "millpond-demo.linked");
    const auto start = [&] {
        auto program = std::make_unique<Program>(
            "env",
            std::vector<std::string>{"TMPDIR=" + temporary.string(), MILLPOND_PROGRAM, "demo", "--rate", "100",
                                     "--ring", "name=" + unique_ring("demo-killed"), "--metrics", "127.0.0.1:0"});
        EXPECT_TRUE(program->prints("Ctrl-C stops it.")) << program->output();
        return program;
    };
    const auto folder_of = [](const Program& demo) {
        return std::filesystem::path{demo.word_after("  tail -f ")}.parent_path();
    };
    auto killed = start();
    killed->signal(SIGKILL);
    killed->wait();
    ASSERT_TRUE(std::filesystem::exists(folder_of(*killed)));
    auto next = start();
    EXPECT_FALSE(std::filesystem::exists(folder_of(*killed)));
    Program refused{
        "env",
        {"TMPDIR=" + temporary.string(), MILLPOND_PROGRAM, "demo", "--ring", "name=" + unique_ring("demo-killed")}};
    EXPECT_NE(refused.wait().exit_code, 0) << "the ring is in use";
    EXPECT_TRUE(std::filesystem::exists(folder_of(*next) / "quotes.csv")) << "of a demo that runs";
    EXPECT_TRUE(std::filesystem::exists(temporary / "millpond-demo.notes" / "mine"));
    EXPECT_TRUE(std::filesystem::exists(temporary / "millpond-demo.linked"));
    next->signal(SIGTERM);
    EXPECT_EQ(next->wait().exit_code, 0);
}

TEST_F(Demo, ItGoesOnWhenNoProcessReadsWhatItPrints) {
    const auto temporary = folder() / "temporary";
    std::filesystem::create_directories(temporary);
    const test::ScratchFile feed{test::scratch_name("demo.itch"), ItchSession{50}.file()};
    // The feed ends, and reports it, long after the reader of the output has gone.
    const auto demo = fmt::format("TMPDIR={} timeout -s TERM 3 {} demo --replay {} --speed max --ring name={}",
                                  temporary.string(), MILLPOND_PROGRAM, feed.path(), unique_ring("demo-unread"));
    Program program{"sh", {"-c", "exec 3>&1; { " + demo + "; echo ended $? >&3; } 2>&1 | head -1"}};
    // 124: timeout(1) had to end a running demo.
    EXPECT_THAT(program.wait().out, HasSubstr("ended 124"));
    EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

TEST_F(Demo, AStartThatFailsLeavesNothingBehindEither) {
    const auto temporary = folder() / "temporary";
    std::filesystem::create_directories(temporary);
    Program program{"env",
                    {"TMPDIR=" + temporary.string(), MILLPOND_PROGRAM, "demo", "--replay", "/nonexistent.pcap",
                     "--ring", "name=" + unique_ring("demo-failed")}};
    EXPECT_NE(program.wait().exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

/// Starts a demo on a terminal with this many columns; the shell prints the process id first.
std::unique_ptr<Program> on_terminal(int columns, const std::vector<std::string>& arguments) {
    auto command = fmt::format("stty cols {}; echo process $$; exec {}", columns, MILLPOND_PROGRAM);
    for (const auto& argument : arguments) command += " " + argument;
    return std::make_unique<Program>("script", std::vector<std::string>{"-qefc", command, "/dev/null"});
}

TEST_F(Demo, OnATerminalOneStatusLineIsUpdatedInPlace) {
    std::map<int, std::unique_ptr<Program>> terminals;
    for (const int columns : {40, 80, 200}) {
        terminals[columns] = on_terminal(columns, demo(fmt::format("demo-terminal-{}", columns)));
    }
    for (const auto& [columns, terminal] : terminals) {
        EXPECT_TRUE(terminal->prints("datagrams/s", 3)) << terminal->output();
        kill(std::stoi(terminal->word_after("process ")), SIGTERM);
        EXPECT_EQ(terminal->wait().exit_code, 0);
        std::istringstream updates{terminal->output()};
        int seen = 0;
        for (std::string update; std::getline(updates, update, '\r');) {
            constexpr std::string_view kErase = "\033[K";
            if (!update.starts_with(kErase) || update.find("datagrams/s") == std::string::npos) continue;
            const auto text = update.substr(kErase.size());
            EXPECT_LT(text.size(), static_cast<std::size_t>(std::min(columns, 80))) << text;
            EXPECT_EQ(text.find('\n'), std::string::npos) << text;
            ++seen;
        }
        EXPECT_GE(seen, 3) << terminal->output();
    }
}

TEST_F(Demo, AddressesOfSinksWithTlsArePrintedAsSuch) {
    const test::Certificates certificates;
    if (!certificates.made()) GTEST_SKIP() << "the program openssl is missing";
    const auto tls = "listen=127.0.0.1:0,tls_certificate=" + certificates.certificate("ours-server") +
                     ",tls_key=" + certificates.key("ours-server");
    Program program{demo("demo-tls", {"--web", tls, "--tcp", tls})};
    ASSERT_TRUE(program.prints("Ctrl-C stops it."));
    EXPECT_THAT(program.word_after("page: "), StartsWith("https://127.0.0.1:"));
    EXPECT_THAT(program.word_after("openssl s_client -quiet "), StartsWith("127.0.0.1:"));
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait().exit_code, 0);
}

}  // namespace
}  // namespace millpond::app
