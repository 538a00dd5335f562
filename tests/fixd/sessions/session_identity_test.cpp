#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <millpond/fix/store_reader.hpp>

#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using ::testing::HasSubstr;

class SessionIdentity : public ::testing::Test {
protected:
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string state(const std::string& name) const {
        std::filesystem::create_directories(folder_ / name);
        return "state = '" + (folder_ / name).string() + "'\n";
    }
    [[nodiscard]] std::string store_of(const std::string& file) const {
        return fix::StoreReader{folder_ / file}.identity().name();
    }

    std::filesystem::path folder_{::testing::TempDir() + test::scratch_name("identities")};
};

TEST_F(SessionIdentity, SessionsThatDifferInOneIdRunBesideEachOtherEachWithItsStore) {
    RunningEngine house{state("house") + kListen + waits_for("A") + waits_for("A", "target_sub_id = 'X'\n") +
                        waits_for("A", "target_location_id = 'X'\n") + waits_for("A", "sender_sub_id = 'X'\n") +
                        waits_for("A", "sender_location_id = 'X'\n")};
    {
        RunningEngine desk{state("desk") + connects("A", house) + connects("A", house, "sender_sub_id = 'X'\n") +
                           connects("A", house, "sender_location_id = 'X'\n") +
                           connects("A", house, "target_sub_id = 'X'\n") +
                           connects("A", house, "target_location_id = 'X'\n")};
        for (const auto* name : {"HOUSE->A", "HOUSE->A/X", "HOUSE->A//X", "HOUSE/X->A", "HOUSE//X->A"}) {
            const auto is_active = [&] {
                for (const auto& session : house.engine().sessions()) {
                    if (session->name() != std::string{"FIX.4.4:"} + name) continue;
                    return session->status().state == fix::Session::State::active;
                }
                return false;
            };
            EXPECT_TRUE(comes_true(is_active)) << name << '\n' << house.said();
        }
        EXPECT_TRUE(comes_true([&] { return desk.counts().logons == 5; }));
    }
    EXPECT_EQ(store_of("house/FIX.4.4-HOUSE-A.store"), "FIX.4.4:HOUSE->A");
    EXPECT_EQ(store_of("house/FIX.4.4-HOUSE-A+X.store"), "FIX.4.4:HOUSE->A/X");
    EXPECT_EQ(store_of("house/FIX.4.4-HOUSE-A++X.store"), "FIX.4.4:HOUSE->A//X");
    EXPECT_EQ(store_of("house/FIX.4.4-HOUSE+X-A.store"), "FIX.4.4:HOUSE/X->A");
    EXPECT_EQ(store_of("desk/FIX.4.4-A++X-HOUSE.store"), "FIX.4.4:A//X->HOUSE");
}

TEST_F(SessionIdentity, ALogonGetsTheTemplateWithItsIds) {
    RunningEngine house{state("house") + kListen + waits_for("*") + waits_for("*", "sender_sub_id = 'ALGO'\n")};
    engine::RawClient plain{house.port()};
    plain.send(logon(1, "A"));
    ASSERT_TRUE(comes_true([&] { return plain.receive(), house.is_active("HOUSE->A"); }));
    engine::RawClient algo{house.port()};
    algo.send(fix44("A", 1, "A", "HOUSE", "57=ALGO|98=0|108=30|"));
    ASSERT_TRUE(comes_true([&] { return algo.receive(), house.is_active("HOUSE/ALGO->A"); })) << house.said();
    EXPECT_TRUE(house.is_active("HOUSE->A"));
    EXPECT_THAT(algo.received(), HasSubstr("\x01"
                                           "50=ALGO\x01"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "house/FIX.4.4-HOUSE+ALGO/A.store"));
}

TEST_F(SessionIdentity, ALogonWithAnotherSubIdIsRefusedWithItsTag) {
    RunningEngine house{kListen + waits_for("A", "target_sub_id = 'X'\n")};
    engine::RawClient wrong{house.port()};
    wrong.send(fix44("A", 1, "A", "HOUSE", "50=Y|98=0|108=30|"));
    ASSERT_TRUE(comes_true([&] { return house.said().find("refused") != std::string::npos; }));
    EXPECT_THAT(house.said(), HasSubstr("unknown session: tag 50 is 'Y'"));
}

TEST_F(SessionIdentity, AReloadAddsAndRemovesOneOfThem) {
    const auto a = waits_for("A");
    const auto ax = waits_for("A", "target_sub_id = 'X'\n");
    RunningEngine house{kListen + a};
    EXPECT_THAT(house.reload(kListen + a + ax).done, ::testing::ElementsAre("session FIX.4.4:HOUSE->A/X is added"));
    engine::RawClient client{house.port()};
    client.send(fix44("A", 1, "A", "HOUSE", "50=X|98=0|108=30|"));
    ASSERT_TRUE(comes_true([&] { return client.receive(), house.is_active("HOUSE->A/X"); }));
    EXPECT_THAT(house.reload(kListen + ax).done, ::testing::ElementsAre("session FIX.4.4:HOUSE->A is removed"));
    EXPECT_TRUE(house.is_active("HOUSE->A/X"));
}

}  // namespace
}  // namespace millpond::fixd
