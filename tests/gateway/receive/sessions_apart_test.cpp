#include "gateway/receive/sessions_apart.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace millpond::gateway {
namespace {

SessionsApart both(char letter) {
    const feed::SessionName name{std::string(feed::SessionName::capacity(), letter)};
    return {.line = name, .feed = name};
}

TEST(SessionsApart, AreReadAsTheyWereSetAndAreNothingWhenTheyNoLongerDiffer) {
    SharedSessionsApart shared;
    EXPECT_FALSE(shared.read());
    shared.set({});
    EXPECT_FALSE(shared.read());
    shared.set(both('a'));
    shared.set(both('b'));
    EXPECT_EQ(shared.read(), both('b'));
    shared.set({});
    EXPECT_FALSE(shared.read());
}

TEST(SessionsApart, AreReadWholeWhileAnotherThreadSetsThem) {
    constexpr int kSets = 20'000;
    SharedSessionsApart shared;
    std::atomic<bool> over{false};
    std::thread setter{[&] {
        for (int i = 0; i < kSets; ++i) shared.set(both(static_cast<char>('a' + i % 26)));
        over.store(true);
    }};
    while (!over.load()) {
        const auto sessions = shared.read();
        if (sessions) {
            EXPECT_EQ(*sessions, both(sessions->feed.view().back()));
        }
    }
    setter.join();
    EXPECT_EQ(shared.read(), both(static_cast<char>('a' + (kSets - 1) % 26)));
}

}  // namespace
}  // namespace millpond::gateway
