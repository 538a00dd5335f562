#include "tests/support/syscall_guard.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <sstream>

#include <gtest/gtest.h>

namespace millpond::test {
namespace {

using End = GuardedOutcome::End;

#define SKIP_WITHOUT_SECCOMP(outcome) \
    if ((outcome).end == End::unavailable) GTEST_SKIP() << "this machine allows no seccomp filter"

TEST(SyscallGuard, WorkWithoutSystemCallsIsDone) {
    const auto outcome = run_guarded([](SyscallGuard& guard) {
        guard.forbid_all();
        volatile std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < 1000; ++i) sum = sum + i;
        return sum == 499'500;
    });
    SKIP_WITHOUT_SECCOMP(outcome);
    EXPECT_EQ(outcome.end, End::done) << outcome;
}

TEST(SyscallGuard, AWrongAnswerIsReported) {
    const auto outcome = run_guarded([](SyscallGuard& guard) {
        guard.forbid_all();
        return false;
    });
    SKIP_WITHOUT_SECCOMP(outcome);
    EXPECT_EQ(outcome.end, End::refused) << outcome;
}

TEST(SyscallGuard, ASystemCallThatIsNotAllowedEndsTheWorkAndIsNamed) {
    const auto outcome = run_guarded([](SyscallGuard& guard) {
        guard.forbid_all();
        syscall(SYS_getpid);
        return true;
    });
    SKIP_WITHOUT_SECCOMP(outcome);
    EXPECT_EQ(outcome.end, End::syscall);
    EXPECT_EQ(outcome.syscall_number, SYS_getpid);
    std::ostringstream text;
    text << outcome;
    EXPECT_EQ(text.str(), "made the system call " + std::to_string(SYS_getpid) + " (getpid), which is not allowed");
}

TEST(SyscallGuard, OnlyTheCallsThatAreListedPass) {
    const auto outcome = run_guarded([](SyscallGuard& guard) {
        guard.allow_only({SYS_getpid, SYS_getppid});
        const bool passed = syscall(SYS_getpid) > 0 && syscall(SYS_getppid) > 0;
        syscall(SYS_gettid);
        return passed;
    });
    SKIP_WITHOUT_SECCOMP(outcome);
    EXPECT_EQ(outcome.end, End::syscall);
    EXPECT_EQ(outcome.syscall_number, SYS_gettid);
}

TEST(SyscallGuard, CallsBeforeTheGuardIsClosedAreFree) {
    const auto outcome = run_guarded([](SyscallGuard& guard) {
        const bool warmed = syscall(SYS_getpid) > 0;
        guard.forbid_all();
        return warmed;
    });
    SKIP_WITHOUT_SECCOMP(outcome);
    EXPECT_EQ(outcome.end, End::done) << outcome;
}

TEST(SyscallGuard, ACrashIsNotASuccess) {
    const auto outcome = run_guarded([](SyscallGuard&) {
        signal(SIGKILL, SIG_DFL);
        raise(SIGKILL);
        return true;
    });
    EXPECT_EQ(outcome.end, End::died);
    EXPECT_EQ(outcome.signal, SIGKILL);
}

}  // namespace
}  // namespace millpond::test
