// Manual pages, completions and service manager notifications of the program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Output of a shell command.
std::string output_of(const std::string& command) {
    std::string text;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("popen");
    std::array<char, 4'096> buffer;
    for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) != 0;) {
        text.append(buffer.data(), got);
    }
    pclose(pipe);
    return text;
}

/// Completions that bash offers at the end of the line.
std::string bash_offers(const std::string& line) {
    return output_of("bash -c 'source <(" MILLPOND_PROGRAM " completion bash); COMP_LINE=\"" + line +
                     "\"; COMP_POINT=${#COMP_LINE}; _millpond; echo \"${COMPREPLY[@]}\"'");
}

TEST(Completion, BashOffersSubcommandsOptionsAndWordsOfAFixedChoice) {
    EXPECT_THAT(bash_offers("millpond ga"), HasSubstr("gateway"));
    EXPECT_EQ(bash_offers("millpond config "), "check --help\n");
    EXPECT_EQ(bash_offers("millpond tail --form"), "--format\n");
    EXPECT_EQ(bash_offers("millpond tail --format "), "table json csv\n");
    EXPECT_EQ(bash_offers("millpond gateway --quiet --poll s"), "spin\n");
    EXPECT_EQ(bash_offers("millpond gateway --config "), "\n") << "bash completes names of files itself";
}

TEST(Completion, BashOffersTheKeysOfATableAndTheirWordsPartByPart) {
    EXPECT_THAT(bash_offers("millpond gateway --feed "), AllOf(HasSubstr("listen= "), HasSubstr(" format=itch ")));
    EXPECT_EQ(bash_offers("millpond gateway --feed form"),
              "format=quotes format=bbo28 format=miax-tom format=itch format=iex-tops format=iex-deep "
              "format=iex-deep-plus\n");
    EXPECT_EQ(bash_offers("millpond gateway --receive af"), "af_xdp\n");
    EXPECT_EQ(bash_offers("millpond gateway --feed name=a,rerequest_s"),
              "a,rerequest_start=true a,rerequest_start=false\n")
        << "what is before = is a word of its own";
    EXPECT_EQ(bash_offers("millpond gateway --feed listen=127.0.0.1:9000,line"), "9000,line_b=\n");
    EXPECT_EQ(bash_offers("millpond gateway --quiet --tcp listen=127.0.0.1:9100,mode=c"), "conflate\n");
    EXPECT_EQ(bash_offers("millpond gateway --tcp mode=every --po"), "--poll\n");
}

/// Completions that fish offers at the end of the line, without their descriptions.
std::string fish_offers(const std::string& line) {
    return output_of("fish --no-config -c '" MILLPOND_PROGRAM " completion fish | source; complete -C \"" + line +
                     "\"' | cut -f 1");
}

TEST(Completion, FishOffersSubcommandsOptionsAndWordsOfAFixedChoice) {
    if (std::system("command -v fish >/dev/null") != 0) GTEST_SKIP() << "needs fish";
    EXPECT_EQ(fish_offers("millpond ga"), "gateway\n");
    EXPECT_EQ(fish_offers("millpond tail --form"), "--format\n");
    EXPECT_EQ(fish_offers("millpond tail --format "), "csv\njson\ntable\n");
    EXPECT_EQ(fish_offers("millpond gateway --quiet --poll s"), "spin\n");
    EXPECT_EQ(fish_offers("millpond completion f"), "fish\n");
    EXPECT_EQ(fish_offers("millpond fix pas"), "passwd\n");
}

TEST(Completion, ZshReadsItsOwn) {
    if (std::system("command -v zsh >/dev/null") != 0) GTEST_SKIP() << "needs zsh";
    EXPECT_EQ(output_of("bash -c '" MILLPOND_PROGRAM " completion zsh | zsh -n 2>&1'"), "");
}

TEST(Manual, EverySubcommandHasAPageWithItsOptions) {
    const auto top = run({"manual"}).out;
    for (const std::string name : {"gateway", "tail", "replay", "generate", "config"}) {
        EXPECT_THAT(top, HasSubstr("millpond\\-" + name));
        const auto page = run({"manual", name});
        EXPECT_EQ(page.exit_code, 0);
        EXPECT_THAT(page.out,
                    AllOf(HasSubstr(".TH MILLPOND\\-"), HasSubstr("\\-\\-help"), HasSubstr("millpond " + name)));
    }
    EXPECT_THAT(run({"manual", "config"}).out, HasSubstr(".SH CHECK"));
    EXPECT_EQ(run({"manual", "nothing"}).exit_code, 2);
    EXPECT_EQ(run({"manual", "--all", "/nonexistent"}).exit_code, 1);
}

/// The socket of a service manager.
class Manager {
public:
    explicit Manager(std::string name)
        : name_(std::move(name)), socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name_.copy(address.sun_path + 1, name_.size());  // abstract address: the first byte is 0
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
        if (bind(socket_, reinterpret_cast<sockaddr*>(&address), length) != 0) throw std::runtime_error("bind");
        setenv("NOTIFY_SOCKET", ("@" + name_).c_str(), 1);
        setenv("WATCHDOG_USEC", "300000", 1);
    }
    ~Manager() {
        unsetenv("NOTIFY_SOCKET");
        unsetenv("WATCHDOG_USEC");
        close(socket_);
    }
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    /// The next message; empty after the timeout.
    [[nodiscard]] std::string next(int timeout_ms) const {
        pollfd waiting{socket_, POLLIN, 0};
        if (poll(&waiting, 1, timeout_ms) != 1) return {};
        std::array<char, 256> text;
        const auto got = recv(socket_, text.data(), text.size(), 0);
        return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
    }

    /// Waits for this message.
    [[nodiscard]] bool hears(const std::string& message) const {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (core::monotonic_nanos() < deadline) {
            if (next(1'000) == message) return true;
        }
        return false;
    }

private:
    std::string name_;
    int socket_;
};

TEST(Service, ItsManagerHearsThatItIsReadyThatItLivesAndThatItStops) {
    const Manager manager{unique_ring("manager")};
    GatewayRun gateway{{.ring = unique_ring("service"), .format = "quotes"}};
    EXPECT_TRUE(manager.hears("READY=1"));
    EXPECT_TRUE(manager.hears("WATCHDOG=1"));
    EXPECT_TRUE(manager.hears("WATCHDOG=1"));
    EXPECT_EQ(gateway.end().exit_code, 0);
    EXPECT_TRUE(manager.hears("STOPPING=1"));
}

}  // namespace
}  // namespace millpond::app
