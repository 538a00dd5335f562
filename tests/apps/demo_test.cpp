// `millpond gateway --demo`.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/gateway/port_turn.hpp"
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
        more.insert(more.begin(), {"gateway", "--demo", "--demo-rate", "100", "--ring", "name=" + unique_ring(name),
                                   "--csv", "path=" + (folder_ / name).string()});
        return more;
    }

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

private:
    std::filesystem::path folder_{std::filesystem::temp_directory_path() / unique_ring("demo")};
};

/// A socket at 127.0.0.1:9465, as soon as a demo of another test lets go of it.
class PagesPort {
public:
    PagesPort() {
        for (int tries = 600; tries > 0; --tries) {
            try {
                const PortTurn turn;
                taken_.emplace(io_, Tcp::endpoint{boost::asio::ip::address_v4::loopback(), 9465});
                return;
            } catch (const boost::system::system_error&) {
                std::this_thread::sleep_for(std::chrono::milliseconds{100});
            }
        }
        throw std::runtime_error("port 9465 stays taken");
    }

private:
    using Tcp = boost::asio::ip::tcp;
    boost::asio::io_context io_;
    std::optional<Tcp::acceptor> taken_;
};

TEST_F(Demo, APortThatIsTakenIsNamedAndTheNextFreeOneTaken) {
    const PagesPort taken;
    Program program{demo("demo-taken")};
    ASSERT_TRUE(program.says("Ctrl-C stops it."));
    EXPECT_THAT(program.word_behind("page: "), StartsWith("http://127.0.0.1:94"));
    program.signal(SIGTERM);
    const auto ended = program.wait();
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_THAT(ended.err, HasSubstr("millpond: demo: 127.0.0.1:9465 is in use, so the page is at 127.0.0.1:94"));
}

TEST_F(Demo, ThoseThatBeginAtOnceHavePortsOfTheirOwn) {
    std::vector<std::unique_ptr<Program>> all;
    for (int i = 0; i < 4; ++i) all.push_back(std::make_unique<Program>(demo(fmt::format("demo-at-once-{}", i))));
    std::set<std::string> pages;
    for (auto& program : all) {
        ASSERT_TRUE(program->says("Ctrl-C stops it.")) << program->wait(std::chrono::seconds{0}).err;
        pages.insert(program->word_behind("page: "));
    }
    EXPECT_EQ(pages.size(), all.size());
    for (auto& program : all) program->signal(SIGTERM);
    for (auto& program : all) EXPECT_EQ(program->wait().exit_code, 0);
}

/// The commands between "more commands:" and "Ctrl-C stops it."
std::vector<std::string> hinted_commands(const std::string& said) {
    std::vector<std::string> commands;
    std::istringstream lines{said.substr(said.find("more commands:"))};
    for (std::string line; std::getline(lines, line) && line != "Ctrl-C stops it.";) {
        if (line.starts_with("  ")) commands.push_back(line.substr(2));
    }
    return commands;
}

TEST_F(Demo, EachHintWorksAsPrintedInAShell) {
    Program program{{"gateway", "--demo", "--demo-rate", "500", "--ring", "name=" + unique_ring("demo-hints")}};
    ASSERT_TRUE(program.says("Ctrl-C stops it."));
    EXPECT_THAT(program.said(), HasSubstr("python: millpond.Ring(\""));
    const auto commands = hinted_commands(program.said());
    EXPECT_THAT(commands, ElementsAre(HasSubstr(" tail --ring "), HasSubstr(" top --gateway "), HasSubstr("/dev/tcp/"),
                                      StartsWith("tail -f ")));
    // What each shows: the head of the table, the health of the gateway, a JSON line, rows.
    const std::vector<std::string> shown{"bid", "ring", R"("type":"quote")", ",0,"};
    for (std::size_t i = 0; i < commands.size(); ++i) {
        Program hint{"sh", {"-c", "exec " + commands[i]}};
        EXPECT_TRUE(hint.says(shown[i])) << commands[i] << '\n' << hint.said();
    }
    const auto metrics = program.word_behind("metrics: http://");
    const auto slash = metrics.find('/');
    const auto port = net::SocketAddress::parse(metrics.substr(0, slash)).port();
    EXPECT_THAT(page_of(port, metrics.substr(slash)), HasSubstr("\nmillpond_"));
    program.signal(SIGINT);
    EXPECT_EQ(program.wait().exit_code, 0);
}

TEST_F(Demo, HintsNameTheProgramWhereThePathFindsIt) {
    const std::filesystem::path program{MILLPOND_PROGRAM};
    const auto arguments = " gateway --demo --demo-rate 100 --ring name=" + unique_ring("demo-path");
    const auto start = [&](const std::string& before) {
        return std::make_unique<Program>(
            "sh", std::vector<std::string>{"-c", before + "; exec " + program.string() + arguments});
    };
    const auto of = [](const std::unique_ptr<Program>& demo) {
        EXPECT_TRUE(demo->says("Ctrl-C stops it.")) << demo->said();
        const auto first = hinted_commands(demo->said()).front();
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
                        {"TMPDIR=" + temporary.string(), MILLPOND_PROGRAM, "gateway", "--demo", "--demo-rate", "100",
                         "--ring", "name=" + unique_ring("demo-left")}};
        ASSERT_TRUE(program.says("Ctrl-C stops it."));
        EXPECT_FALSE(std::filesystem::is_empty(temporary));
        program.signal(number);
        EXPECT_EQ(program.wait().exit_code, 0);
        EXPECT_TRUE(std::filesystem::is_empty(temporary)) << number;
    }
}

TEST_F(Demo, ItGoesOnWhenNoProcessReadsWhatItPrints) {
    const auto temporary = folder() / "temporary";
    std::filesystem::create_directories(temporary);
    const test::ScratchFile feed{test::scratch_name("demo.itch"), ItchSession{50}.file()};
    // The feed is at its end, and says so, when the reader is long gone.
    const auto demo =
        fmt::format("TMPDIR={} timeout -s TERM 3 {} gateway --demo --demo-feed {} --demo-speed max --ring name={}",
                    temporary.string(), MILLPOND_PROGRAM, feed.path(), unique_ring("demo-unread"));
    Program program{"sh", {"-c", "exec 3>&1; { " + demo + "; echo ended $? >&3; } 2>&1 | head -1"}};
    // 124: it was there to be ended.
    EXPECT_THAT(program.wait().out, HasSubstr("ended 124"));
    EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

TEST_F(Demo, AStartThatFailsLeavesNothingBehindEither) {
    const auto temporary = folder() / "temporary";
    std::filesystem::create_directories(temporary);
    Program program{"env",
                    {"TMPDIR=" + temporary.string(), MILLPOND_PROGRAM, "gateway", "--demo", "--demo-feed",
                     "/nonexistent.pcap", "--ring", "name=" + unique_ring("demo-failed")}};
    EXPECT_NE(program.wait().exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

/// A demo on a terminal of so many columns; it prints its process before.
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
        EXPECT_TRUE(terminal->says("datagrams/s", 3)) << terminal->said();
        kill(std::stoi(terminal->word_behind("process ")), SIGTERM);
        EXPECT_EQ(terminal->wait().exit_code, 0);
        std::istringstream updates{terminal->said()};
        int seen = 0;
        for (std::string update; std::getline(updates, update, '\r');) {
            constexpr std::string_view kErase = "\033[K";
            if (!update.starts_with(kErase) || update.find("datagrams/s") == std::string::npos) continue;
            const auto text = update.substr(kErase.size());
            EXPECT_LT(text.size(), static_cast<std::size_t>(std::min(columns, 80))) << text;
            EXPECT_EQ(text.find('\n'), std::string::npos) << text;
            ++seen;
        }
        EXPECT_GE(seen, 3) << terminal->said();
    }
}

TEST_F(Demo, AddressesOfSinksWithTlsArePrintedAsSuch) {
    const test::Certificates certificates;
    if (!certificates.made()) GTEST_SKIP() << "the program openssl is missing";
    const auto tls = "listen=127.0.0.1:0,tls_certificate=" + certificates.certificate("ours-server") +
                     ",tls_key=" + certificates.key("ours-server");
    Program program{demo("demo-tls", {"--web", tls, "--tcp", tls})};
    ASSERT_TRUE(program.says("Ctrl-C stops it."));
    EXPECT_THAT(program.word_behind("page: "), StartsWith("https://127.0.0.1:"));
    EXPECT_THAT(program.word_behind("openssl s_client -quiet "), StartsWith("127.0.0.1:"));
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait().exit_code, 0);
}

}  // namespace
}  // namespace millpond::app
