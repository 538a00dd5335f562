#include <array>
#include <string>
#include <thread>

#include <pthread.h>

#include <gtest/gtest.h>

#include <millpond/core/thread_name.hpp>

namespace millpond::core {
namespace {

std::string name_given(std::string_view name) {
    std::array<char, 64> got{};
    std::thread{[&] {
        name_this_thread(name);
        pthread_getname_np(pthread_self(), got.data(), got.size());
    }}.join();
    return got.data();
}

TEST(ThreadName, IsWhatTheKernelShows) { EXPECT_EQ(name_given("rx opra"), "rx opra"); }

TEST(ThreadName, IsCutToFifteenBytes) { EXPECT_EQ(name_given("receive options-a"), "receive options"); }

}  // namespace
}  // namespace millpond::core
