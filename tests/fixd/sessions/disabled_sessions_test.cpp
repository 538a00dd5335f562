#include "fixd/sessions/disabled_sessions.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "fixd/admin/admin_server.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using ::testing::HasSubstr;

class DisabledSessionsTest : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string toml(const std::string& sessions) const {
        return fmt::format("state = '{}'\nadmin = '{}'\n[[acceptor]]\nlisten = '127.0.0.1:0'\n{}", state(), admin(),
                           sessions);
    }
    [[nodiscard]] std::string state() const { return (folder_ / "state").string(); }
    [[nodiscard]] std::string admin() const { return (folder_ / "admin.sock").string(); }

    static constexpr const char* kOne = "[[session]]\nsender = 'HOUSE'\ntarget = 'ONE'\n";
    static constexpr const char* kTwo = "[[session]]\nsender = 'HOUSE'\ntarget = 'TWO'\n";
    std::filesystem::path folder_{::testing::TempDir() + test::scratch_name("disabled")};
};

TEST_F(DisabledSessionsTest, ARestartForgetsNoneUntilItIsEnabled) {
    const auto both = toml(fmt::format("{}{}", kOne, kTwo));
    {
        RunningEngine engine{both};
        EXPECT_EQ(ask_engine(admin(), "logout\tONE\tmaintenance"), "{\"done\":true}");
        ASSERT_TRUE(comes_true([&] { return !engine.status("ONE").enabled; }));
    }
    {
        RunningEngine engine{both};
        EXPECT_FALSE(engine.status("ONE").enabled);
        EXPECT_TRUE(engine.status("TWO").enabled);
        EXPECT_THAT(engine.engine().page({.path = "/health"}).body,
                    HasSubstr("disabled: session 'FIX.4.4:HOUSE->ONE'"));
        // The session stays disabled with other settings.
        EXPECT_THAT(engine.reload(toml(fmt::format("{}heartbeat_seconds = 7\n{}", kOne, kTwo))).done,
                    ::testing::SizeIs(1));
        EXPECT_FALSE(engine.status("ONE").enabled);
        EXPECT_EQ(ask_engine(admin(), "logon\tONE"), "{\"done\":true}");
        ASSERT_TRUE(comes_true([&] { return engine.status("ONE").enabled; }));
    }
    RunningEngine engine{both};
    EXPECT_TRUE(engine.status("ONE").enabled);
}

TEST_F(DisabledSessionsTest, AReloadThatEnablesOrRemovesASessionRemovesItFromTheList) {
    const auto off = [](const char* session) { return fmt::format("{}enabled = false\n", session); };
    RunningEngine engine{toml(fmt::format("{}{}", kOne, kTwo))};
    EXPECT_EQ(ask_engine(admin(), "logout\tONE\tx"), "{\"done\":true}");
    EXPECT_EQ(ask_engine(admin(), "logout\tTWO\tx"), "{\"done\":true}");
    EXPECT_TRUE(std::filesystem::exists(state() + "/disabled"));
    engine.reload(toml(off(kOne)));
    engine.reload(toml(fmt::format("{}{}", kOne, kTwo)));
    ASSERT_TRUE(comes_true([&] { return engine.status("ONE").enabled && engine.status("TWO").enabled; }));
    // With another change in the same reload.
    EXPECT_EQ(ask_engine(admin(), "logout\tONE\tx"), "{\"done\":true}");
    engine.reload(toml(fmt::format("{}{}", off(kOne), kTwo)));
    engine.reload(toml(fmt::format("{}heartbeat_seconds = 7\n{}", kOne, kTwo)));
    EXPECT_TRUE(engine.status("ONE").enabled);
    EXPECT_EQ(std::filesystem::file_size(state() + "/disabled"), 0U);
}

TEST_F(DisabledSessionsTest, AListThatCannotBeWrittenIsAnErrorAndTheSessionIsDisabledAllTheSame) {
    RunningEngine engine{toml(kOne)};
    std::filesystem::create_directory(state() + "/disabled");
    EXPECT_EQ(ask_engine(admin(), "logout\tONE\tx"), "{\"done\":true}");
    ASSERT_TRUE(comes_true([&] { return !engine.status("ONE").enabled; }));
    EXPECT_THAT(engine.said(), HasSubstr("a restart may forget that sessions are disabled"));
}

TEST_F(DisabledSessionsTest, ASessionByTemplateStaysDisabledWithoutItsSessionAndAfterARestart) {
    std::filesystem::create_directories(folder_ / "desks");
    const auto desks = toml(fmt::format("[[session]]\nsender = 'HOUSE'\ntarget = '*'\nmax_dynamic = 1\nstore = '{}'\n",
                                        (folder_ / "desks").string()));
    constexpr auto kRefused = "Logon refused: session is disabled";
    {
        RunningEngine house{desks};
        {
            RunningEngine one{connects("ONE", house)};
            ASSERT_TRUE(comes_true([&] { return house.is_active("ONE"); }));
            EXPECT_EQ(ask_engine(admin(), "logout\tONE\tmaintenance"), "{\"done\":true}");
            ASSERT_TRUE(comes_true([&] { return house.said().find(kRefused) != std::string::npos; }));
        }
        RunningEngine two{connects("TWO", house)};
        ASSERT_TRUE(comes_true([&] { return house.is_active("TWO"); }));
        EXPECT_EQ(house.status("ONE").name, "") << "it made room";
    }
    RunningEngine house{desks};
    RunningEngine one{connects("ONE", house)};
    ASSERT_TRUE(comes_true([&] { return house.said().find(kRefused) != std::string::npos; }));
    EXPECT_EQ(house.counts().logons.load(), 0);
    EXPECT_EQ(ask_engine(admin(), "logon\tONE"), "{\"done\":true}");
    ASSERT_TRUE(comes_true([&] { return house.is_active("ONE"); }));
    EXPECT_EQ(std::filesystem::file_size(state() + "/disabled"), 0U);
}

TEST_F(DisabledSessionsTest, ASessionByTemplateThatIsNotThereCanBeEnabled) {
    const auto desks = toml("[[session]]\nsender = 'HOUSE'\ntarget = '*'\n");
    std::filesystem::create_directories(state());
    std::ofstream{state() + "/disabled"} << "FIX.4.4:HOUSE->ONE\n";
    RunningEngine house{desks};
    EXPECT_EQ(ask_engine(admin(), "logon\tONE"), "{\"done\":true}");
    EXPECT_EQ(ask_engine(admin(), "logon\tONE"), "{\"error\":\"there is no session 'ONE'\"}");
    RunningEngine one{connects("ONE", house)};
    ASSERT_TRUE(comes_true([&] { return house.is_active("ONE"); }));
}

}  // namespace
}  // namespace millpond::fixd
