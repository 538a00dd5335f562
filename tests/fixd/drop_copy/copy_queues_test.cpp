// Copies that wait in the queues of `[[drop_copy]]` when an engine ends are sent by the next one.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/raw_client.hpp"
#include "tests/fixd/drop_copy/drop_copy_house.hpp"
#include "tests/fixd/running_engine.hpp"

namespace millpond::fixd {
namespace {

using engine::RawClient;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using FixCopyQueues = FixDropCopy;

TEST_F(FixCopyQueues, CopiesOfALoggedOffTargetSurviveARestart) {
    const auto toml = kListen + waits_for("A") + waits_for("RISK", store("risk")) + copies("['HOUSE->A']");
    {
        RunningEngine house{toml, filling()};
        RawClient a{house.port()};
        a.send(logon(1, "A") + order(2, "A", "o2"));
        ASSERT_TRUE(comes_true([&] { return account(house).mirrored == 1; }));
    }
    RunningEngine house{toml, filling()};
    EXPECT_EQ(house.status("RISK").next_sender, 2U);
    RawClient risk{house.port()};
    risk.send(logon(1, "RISK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("RISK"); }));
    risk.send(fix44("2", 2, "RISK", "HOUSE", "7=1|16=0|"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 1; }));
    EXPECT_EQ(value_of(executions(risk).front(), "11"), "o2");
}

TEST_F(FixCopyQueues, CopiesThatWaitWhenTheEngineIsKilledAreSentByTheNext) {
    const auto file = (folder_ / "risk.store.copies").string();
    // A process dies with three copies in its queue, which has another size than the next one.
    const auto child = ::fork();
    if (child == 0) {
        engine::DropCopy copy{{.name = "r", .producers = 2, .queue_bytes = 1U << 16U, .file = file}};
        for (const char* id : {"k1", "k2", "k3"}) {
            copy.offer(id[1] == '3' ? 1 : 0, engine::Direction::out, fix::ApplicationVersion::fix44,
                       fix_text("FIX.4.4", "8", 7, "HOUSE", "A", fmt::format("6=0|11={}|14=1|", id)));
        }
        ::_exit(0);
    }
    int outcome = -1;
    ASSERT_EQ(::waitpid(child, &outcome, 0), child);
    ASSERT_EQ(outcome, 0);
    EXPECT_TRUE(std::filesystem::exists(file + ".1"));
    const auto toml = kListen + waits_for("A") + waits_for("RISK", store("risk")) + copies("['HOUSE->A']");
    {
        RunningEngine house{toml, filling()};
        EXPECT_THAT(house.said(), HasSubstr("3 copies waited when the engine ended last"));
        ASSERT_TRUE(comes_true([&] { return account(house).mirrored == 3; }));
        EXPECT_EQ(account(house).recovered, 3U);
        RawClient a{house.port()};
        a.send(logon(1, "A") + order(2, "A", "o2"));
        ASSERT_TRUE(comes_true([&] { return account(house).mirrored == 4; }));
        expect_balanced(account(house));
        EXPECT_THAT(house.engine().page({.path = "/metrics"}).body,
                    HasSubstr("millpond_fix_drop_copy_recovered_total{drop_copy=\"FIX.4.4:HOUSE->RISK\"} 3"));
        RawClient risk{house.port()};
        risk.send(logon(1, "RISK"));
        ASSERT_TRUE(comes_true([&] { return house.is_active("RISK"); }));
        risk.send(fix44("2", 2, "RISK", "HOUSE", "7=1|16=0|"));
        ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 4; }));
        const auto got = executions(risk);
        const std::vector<std::string> ids{"k1", "k2", "k3", "o2"};
        // The first copy of each file may be the last one that the former engine has stored.
        const std::vector<std::string> again{"Y", "", "Y", ""};
        for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(value_of(got[i], "11"), ids[i]);
            EXPECT_EQ(value_of(got[i], "97"), again[i]);
            EXPECT_EQ(value_of(got[i], "115"), "A");
        }
    }
    for (const auto& entry : std::filesystem::directory_iterator{folder_}) {
        EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("copies"))) << "empty queues leave no file";
    }
}

TEST_F(FixCopyQueues, CopiesInADamagedPartOfAQueueAreCountedAsLost) {
    const auto file = folder_ / "risk.store.copies";
    std::filesystem::path queue;
    {
        engine::DropCopy copy{{.name = "r", .queue_bytes = 1U << 16U, .file = file}};
        for (const char* id : {"k1", "k2", "k3"}) {
            copy.offer(0, engine::Direction::out, fix::ApplicationVersion::fix44,
                       fix_text("FIX.4.4", "8", 7, "HOUSE", "A", fmt::format("6=0|11={}|14=1|", id)));
        }
        queue = file.string() + ".1";
    }
    {
        std::fstream bytes{queue, std::ios::in | std::ios::out | std::ios::binary};
        bytes.seekp(4096);  // the length of the first
        bytes.write("\xff\xff\xff\xff\xff\x00", 6);
    }
    RunningEngine house{kListen + waits_for("A") + waits_for("RISK", store("risk")) + copies("['HOUSE->A']"),
                        filling()};
    EXPECT_EQ(account(house).recovered, 3U);
    EXPECT_EQ(account(house).not_encoded, 3U);
    expect_balanced(account(house));
    EXPECT_THAT(house.engine().page({.path = "/api/health"}).body, HasSubstr("3 copies were lost since the start"));
}

TEST_F(FixCopyQueues, AQueueThatCannotBeUsedIsNamedAndStays) {
    const auto file = (folder_ / "risk.store.copies").string();
    std::ofstream{file + ".3"} << std::string(8192, 'x');
    std::filesystem::create_directory(file + ".5");
    std::ofstream{file + ".7"} << "MCOPIES1, and cut here";
    std::ofstream{file + ".8"} << std::string(8192, '\0');  // as left by an engine that was killed while creating it
    {
        RunningEngine house{kListen + waits_for("A") + waits_for("RISK", store("risk")) + copies("['HOUSE->A']"),
                            filling()};
        EXPECT_THAT(house.said(), HasSubstr("risk.store.copies.3' is no queue of copies"));
        EXPECT_THAT(house.said(), HasSubstr("risk.store.copies.5"));
        EXPECT_THAT(house.said(), HasSubstr("risk.store.copies.7' is no queue of copies"));
        EXPECT_THAT(house.said(), Not(HasSubstr("risk.store.copies.8")));
        EXPECT_EQ(account(house).unusable, 3U);
        EXPECT_THAT(house.engine().page({.path = "/health"}).body, HasSubstr("copies_unusable"));
        EXPECT_THAT(house.engine().page({.path = "/api/health"}).body, HasSubstr("3 files of copies cannot be used"));
        EXPECT_THAT(house.engine().page({.path = "/metrics"}).body,
                    HasSubstr("millpond_fix_drop_copy_unusable_files{drop_copy=\"FIX.4.4:HOUSE->RISK\"} 3"));
        RawClient a{house.port()};
        a.send(logon(1, "A") + order(2, "A", "o2"));
        ASSERT_TRUE(comes_true([&] { return account(house).mirrored == 1; }));
    }
    EXPECT_EQ(std::filesystem::file_size(file + ".3"), 8192U);
    EXPECT_TRUE(std::filesystem::exists(file + ".5"));
    EXPECT_TRUE(std::filesystem::exists(file + ".7"));
    EXPECT_FALSE(std::filesystem::exists(file + ".8"));
    EXPECT_FALSE(std::filesystem::exists(file + ".9")) << "the engine's own queue was empty";
}

TEST_F(FixCopyQueues, CopiesOfAClosedScheduleWaitForTheNextEngineAndGoWithTheirDropCopy) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto other = (std::chrono::duration_cast<std::chrono::hours>(now).count() % 24 + 12) % 24;
    const auto closed = fmt::format("start = '{:02}:00'\nend = '{:02}:01'\n", other, other);
    const auto base = kListen + waits_for("A");
    const auto toml = [&](const std::string& more) {
        return base + waits_for("RISK", store("risk") + more) + copies("['HOUSE->A']");
    };
    {
        RunningEngine house{toml(closed), filling()};
        RawClient a{house.port()};
        a.send(logon(1, "A") + order(2, "A", "o2") + order(3, "A", "o3"));
        ASSERT_TRUE(comes_true([&] { return executions(a).size() == 2 && account(house).waiting == 2; }));
        // Another size of the queue: copies continue.
        EXPECT_THAT(house.reload(with_queues(toml(closed), std::size_t{1} << 20U)).refused, IsEmpty());
        ASSERT_TRUE(comes_true([&] { return account(house).waiting == 2; }));
        a.send(order(4, "A", "o4"));
        ASSERT_TRUE(comes_true([&] { return account(house).waiting == 3; }));
        expect_balanced(account(house));
    }
    {
        RunningEngine house{toml(""), filling()};
        ASSERT_TRUE(comes_true([&] { return account(house).mirrored == 3; }));
        EXPECT_EQ(house.status("RISK").next_sender, 4U);
    }
    {
        RunningEngine house{toml(closed), filling()};
        RawClient a{house.port()};
        a.send(logon(1, "A") + order(2, "A", "o5"));
        ASSERT_TRUE(comes_true([&] { return account(house).waiting == 1; }));
        house.reload(base + waits_for("RISK", store("risk") + closed));
        EXPECT_THAT(house.said(), HasSubstr("1 copies still waited when it was removed: they are lost"));
    }
    RunningEngine house{toml(""), filling()};
    EXPECT_EQ(account(house).recovered, 0U);
}

}  // namespace
}  // namespace millpond::fixd
