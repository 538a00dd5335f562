#include <cstdint>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "fuzz/session_pair.hpp"

namespace millpond::fix {
namespace {

/// MILLPOND_FIX_MESSAGES=1000000 is the long run.
std::uint64_t wanted_orders() {
    const auto* wanted = std::getenv("MILLPOND_FIX_MESSAGES");
    return wanted == nullptr ? 25'000 : std::strtoull(wanted, nullptr, 10);
}

using RandomPair = SessionPair<std::mt19937>;

void play(RandomPair& pair, std::uint64_t orders) {
    while (pair.orders() < orders && pair.broken().empty()) pair.step(false);
    ASSERT_EQ(pair.broken(), "");
    ASSERT_TRUE(pair.finish()) << "it does not come to rest; " << pair.broken();
    EXPECT_GT(pair.faults(), orders / 100);
    EXPECT_GT(pair.connections(), 10U);
    EXPECT_GT(pair.restarts(), 5U);
}

TEST(SessionNetwork, EveryOrderArrivesOnceInTurnThroughDropsDuplicatesReorderingsAndRestarts) {
    RandomPair pair{{}, std::mt19937{1}};
    play(pair, wanted_orders());
    EXPECT_EQ(pair.delivered(), pair.orders());
}

TEST(SessionNetwork, TheSameWithResendRequestsInChunksInFix42) {
    RandomPair pair{{.version = Version::fix42, .resend_request_chunk = 5}, std::mt19937{2}};
    play(pair, wanted_orders());
    EXPECT_EQ(pair.delivered(), pair.orders());
}

TEST(SessionNetwork, TheSameWithNextExpectedMsgSeqNumInFixt11) {
    RandomPair pair{{.version = Version::fixt11, .send_next_expected = true}, std::mt19937{3}};
    play(pair, wanted_orders());
    EXPECT_EQ(pair.delivered(), pair.orders());
}

TEST(SessionNetwork, LostMessagesAreGapFilledAndNoMessageArrivesTwice) {
    RandomPair pair{{.store_bytes = 8192, .may_lose_history = true, .calm = 16}, std::mt19937{4}};
    play(pair, wanted_orders());
    EXPECT_LE(pair.delivered(), pair.orders());
    EXPECT_GT(pair.delivered(), pair.orders() / 2);
}

}  // namespace
}  // namespace millpond::fix
