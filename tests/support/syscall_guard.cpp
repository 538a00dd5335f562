#include "tests/support/syscall_guard.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace millpond::test {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

enum ExitCode : int { kDone = 0, kRefused = 1, kForbidden = 2, kUnavailable = 3 };

/// Memory shared by parent and child: the handler may make no system call, so it stores the number here.
volatile long* forbidden_call = nullptr;

/// Used instead of _exit, which the sanitizers wrap.
[[noreturn]] void leave(int code) {
    for (;;) syscall(SYS_exit_group, code);
}

void on_forbidden_call(int /*signal*/, siginfo_t* info, void* /*context*/) {
    *forbidden_call = info->si_syscall;
    leave(kForbidden);
}

std::vector<sock_filter> filter_program(std::span<const long> allowed) {
    std::vector<long> calls(allowed.begin(), allowed.end());
    calls.insert(calls.end(), {SYS_exit, SYS_exit_group, SYS_rt_sigreturn});
#if defined(__SANITIZE_THREAD__)
    calls.insert(calls.end(), {SYS_mmap, SYS_munmap, SYS_madvise});
#elif defined(__SANITIZE_ADDRESS__)
    calls.push_back(SYS_sigaltstack);  // of clang's run time, before each call that does not return
#endif
    const auto statement = [](std::uint32_t code, std::uint32_t value) {
        return sock_filter{static_cast<std::uint16_t>(code), 0, 0, value};
    };
    const auto unless_equal_skip_one = [](std::uint32_t value) {
        return sock_filter{static_cast<std::uint16_t>(BPF_JMP | BPF_JEQ | BPF_K), 0, 1, value};
    };
    std::vector<sock_filter> program{
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
        sock_filter{static_cast<std::uint16_t>(BPF_JMP | BPF_JEQ | BPF_K), 1, 0, kArchitecture},
        statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    };
    for (const long call : calls) {
        program.push_back(unless_equal_skip_one(static_cast<std::uint32_t>(call)));
        program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
    program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    return program;
}

const char* name_of(long call) {
    constexpr std::array<std::pair<long, const char*>, 22> kLikely{{
        {SYS_read, "read"},
        {SYS_write, "write"},
        {SYS_mmap, "mmap"},
        {SYS_munmap, "munmap"},
        {SYS_mremap, "mremap"},
        {SYS_mprotect, "mprotect"},
        {SYS_madvise, "madvise"},
        {SYS_brk, "brk"},
        {SYS_futex, "futex"},
        {SYS_sched_yield, "sched_yield"},
        {SYS_nanosleep, "nanosleep"},
        {SYS_clock_nanosleep, "clock_nanosleep"},
        {SYS_clock_gettime, "clock_gettime"},
        {SYS_openat, "openat"},
        {SYS_close, "close"},
        {SYS_recvmsg, "recvmsg"},
        {SYS_recvmmsg, "recvmmsg"},
        {SYS_sendmsg, "sendmsg"},
        {SYS_sendto, "sendto"},
        {SYS_ppoll, "ppoll"},
        {SYS_getpid, "getpid"},
        {SYS_tgkill, "tgkill"},
    }};
    for (const auto& [number, name] : kLikely) {
        if (number == call) return name;
    }
    return "its name stands in asm/unistd.h";
}

}  // namespace

void SyscallGuard::allow_only(std::span<const long> allowed) {
    // Never freed: that might need a system call.
    auto& program = *new std::vector<sock_filter>(filter_program(allowed));
    struct sigaction action{};
    action.sa_sigaction = on_forbidden_call;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, nullptr);
    sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        leave(kUnavailable);
    }
}

GuardedOutcome run_guarded(const std::function<bool(SyscallGuard&)>& work) {
    void* const shared = mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::runtime_error("guarded work: no memory to share with the child");
    forbidden_call = static_cast<volatile long*>(shared);
    *forbidden_call = -1;
    const auto child = fork();
    if (child == 0) {
        SyscallGuard guard;
        leave(work(guard) ? kDone : kRefused);
    }
    int status = 0;
    waitpid(child, &status, 0);
    GuardedOutcome outcome;
    outcome.syscall_number = *forbidden_call;
    munmap(shared, sizeof(long));
    using End = GuardedOutcome::End;
    if (WIFSIGNALED(status)) {
        outcome.signal = WTERMSIG(status);
        return outcome;
    }
    switch (WEXITSTATUS(status)) {
        case kDone: outcome.end = End::done; break;
        case kRefused: outcome.end = End::refused; break;
        case kForbidden: outcome.end = End::syscall; break;
        case kUnavailable: outcome.end = End::unavailable; break;
        default: break;
    }
    return outcome;
}

std::ostream& operator<<(std::ostream& out, const GuardedOutcome& outcome) {
    using End = GuardedOutcome::End;
    switch (outcome.end) {
        case End::done: return out << "done";
        case End::refused: return out << "the work returned false";
        case End::syscall:
            return out << "made the system call " << outcome.syscall_number << " (" << name_of(outcome.syscall_number)
                       << "), which is not allowed";
        case End::died: return out << "died of signal " << outcome.signal;
        case End::unavailable: return out << "this machine allows no seccomp filter";
    }
    return out;
}

}  // namespace millpond::test
