#include "service/reloader.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

namespace millpond::service {
namespace {

constexpr std::chrono::seconds kPatience{60};

TEST(ReloadRequests, ARequestDuringAReloadIsAnsweredByTheNextOne) {
    ReloadRequests requests;
    auto first = std::async(std::launch::async, [&] { return requests.request(kPatience); });
    while (!requests.is_requested()) std::this_thread::yield();
    requests.begin();
    EXPECT_FALSE(requests.is_requested());
    auto second = std::async(std::launch::async, [&] { return requests.request(kPatience); });
    while (!requests.is_requested()) std::this_thread::yield();
    requests.answer({.done = {"first"}, .refused = {}});
    ASSERT_TRUE(first.get());
    EXPECT_TRUE(requests.is_requested());
    requests.begin();
    requests.answer({.done = {"second"}, .refused = {}});
    const auto result = second.get();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->done.front(), "second");
}

TEST(ReloadRequests, AllRequestsBeforeAReloadHaveItsResult) {
    ReloadRequests requests;
    // A start between the two requests shows when the second one was made.
    std::vector<std::future<std::optional<Reloaded>>> waiting;
    for (int i = 0; i < 2; ++i) {
        waiting.push_back(std::async(std::launch::async, [&] { return requests.request(kPatience); }));
        while (!requests.is_requested()) std::this_thread::yield();
        if (i == 0) requests.begin();
    }
    requests.begin();
    requests.answer({.done = {"both"}, .refused = {}});
    for (auto& one : waiting) {
        const auto result = one.get();
        ASSERT_TRUE(result);
        EXPECT_EQ(result->done.front(), "both");
    }
}

TEST(ReloadRequests, CloseEndsAWaitingRequest) {
    ReloadRequests requests;
    auto waiting = std::async(std::launch::async, [&] { return requests.request(kPatience); });
    while (!requests.is_requested()) std::this_thread::yield();
    requests.close();
    EXPECT_FALSE(waiting.get());
    EXPECT_FALSE(requests.request(kPatience));
}

}  // namespace
}  // namespace millpond::service
