// `millpond gateway --demo`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

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

TEST_F(Demo, APortThatIsTakenIsNamedAndTheNextFreeOneTaken) {
    Program first{demo("demo-first")};
    ASSERT_TRUE(first.says("Ctrl-C ends it."));
    Program second{demo("demo-second")};
    ASSERT_TRUE(second.says("Ctrl-C ends it."));
    EXPECT_THAT(first.word_behind("page: "), StartsWith("http://127.0.0.1:"));
    EXPECT_NE(second.word_behind("page: "), first.word_behind("page: "));
    for (auto* program : {&second, &first}) program->signal(SIGTERM);
    EXPECT_THAT(second.wait().err, HasSubstr("millpond: demo: 127.0.0.1:9465 is taken: the page is at 127.0.0.1:94"));
    EXPECT_EQ(first.wait().exit_code, 0);
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
