#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/core/pinning.hpp>

namespace millpond::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Pinning, APinnedThreadRunsOnItsProcessorAlone) {
    const auto before = allowed_cpus();
    ASSERT_FALSE(before.empty());
    std::thread([&] {
        pin_this_thread(before.back());
        EXPECT_THAT(allowed_cpus(), ElementsAre(before.back()));
        EXPECT_EQ(sched_getcpu(), before.back());
    }).join();
    EXPECT_EQ(allowed_cpus(), before) << "the other threads stay where they were";
}

TEST(Pinning, AProcessorThatIsNotAllowedIsRefusedWithTheListOfThoseThatAre) {
    const auto allowed = allowed_cpus();
    for (const int cpu : {-1, 100'000}) {
        try {
            pin_this_thread(cpu);
            FAIL() << cpu << " was accepted";
        } catch (const std::invalid_argument& error) {
            EXPECT_THAT(error.what(),
                        HasSubstr("processor " + std::to_string(cpu) + ", only on " + std::to_string(allowed.front())));
        }
    }
    EXPECT_EQ(allowed_cpus(), allowed);
}

TEST(Realtime, APriorityOutOfRangeIsRefused) {
    EXPECT_THROW(set_realtime(0), std::invalid_argument);
    EXPECT_THROW(set_realtime(100), std::invalid_argument);
}

TEST(Realtime, ARefusalNamesTheCapabilityAndTheLimit) {
    const auto child = fork();
    if (child == 0) {
        const rlimit none{.rlim_cur = 0, .rlim_max = 0};
        setrlimit(RLIMIT_RTPRIO, &none);
        if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
        try {
            set_realtime(10);
        } catch (const std::system_error& error) {
            const std::string text = error.what();
            const bool names = text.find("CAP_SYS_NICE") != std::string::npos &&
                               text.find("LimitRTPRIO=), which is 0") != std::string::npos;
            _exit(names && error.code() == std::errc::operation_not_permitted ? 0 : 1);
        }
        _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Realtime, AnAllowedThreadGetsFifoScheduling) {
    bool refused = false;
    std::thread([&] {
        try {
            set_realtime(1);
        } catch (const std::system_error&) {
            refused = true;
            return;
        }
        EXPECT_EQ(sched_getscheduler(0), SCHED_FIFO);
    }).join();
    if (refused) GTEST_SKIP() << "this user may not have realtime scheduling";
}

}  // namespace
}  // namespace millpond::core
