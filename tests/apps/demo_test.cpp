// `millpond gateway --demo`.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "apps/millpond/port_turn.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/certificates.hpp"

namespace millpond::app {
namespace {

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
    ASSERT_TRUE(program.says("Ctrl-C ends it."));
    EXPECT_THAT(program.word_behind("page: "), StartsWith("http://127.0.0.1:94"));
    program.signal(SIGTERM);
    const auto ended = program.wait();
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_THAT(ended.err, HasSubstr("millpond: demo: 127.0.0.1:9465 is taken: the page is at 127.0.0.1:94"));
}

TEST_F(Demo, ThoseThatBeginAtOnceHavePortsOfTheirOwn) {
    std::vector<std::unique_ptr<Program>> all;
    for (int i = 0; i < 4; ++i) all.push_back(std::make_unique<Program>(demo(fmt::format("demo-at-once-{}", i))));
    std::set<std::string> pages;
    for (auto& program : all) {
        ASSERT_TRUE(program->says("Ctrl-C ends it.")) << program->wait(std::chrono::seconds{0}).err;
        pages.insert(program->word_behind("page: "));
    }
    EXPECT_EQ(pages.size(), all.size());
    for (auto& program : all) program->signal(SIGTERM);
    for (auto& program : all) EXPECT_EQ(program->wait().exit_code, 0);
}

TEST_F(Demo, AddressesOfSinksWithTlsArePrintedAsSuch) {
    const test::Certificates certificates;
    if (!certificates.made()) GTEST_SKIP() << "the program openssl is missing";
    const auto tls = "listen=127.0.0.1:0,tls_certificate=" + certificates.certificate("ours-server") +
                     ",tls_key=" + certificates.key("ours-server");
    Program program{demo("demo-tls", {"--web", tls, "--tcp", tls})};
    ASSERT_TRUE(program.says("Ctrl-C ends it."));
    EXPECT_THAT(program.word_behind("page: "), StartsWith("https://127.0.0.1:"));
    EXPECT_THAT(program.word_behind("openssl s_client -quiet "), StartsWith("127.0.0.1:"));
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait().exit_code, 0);
}

}  // namespace
}  // namespace millpond::app
