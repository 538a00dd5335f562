#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>

namespace millpond::test {

/// The end of guarded work.
struct GuardedOutcome {
    enum class End {
        done,         ///< The work returned true.
        refused,      ///< The work returned false.
        syscall,      ///< The work made a system call that was not allowed: `syscall_number`.
        died,         ///< Another signal ended the work: `signal`.
        unavailable,  ///< The machine does not let a process install a seccomp filter: skip the test.
    };
    End end{End::died};
    long syscall_number{-1};
    int signal{0};
};

/// Text for failures: "made the system call 1 (write), which is not allowed".
std::ostream& operator<<(std::ostream& out, const GuardedOutcome& outcome);

/// Passed to guarded work, which closes it after its warm-up.
class SyscallGuard {
public:
    /// From here on a system call of the calling thread that is not in `allowed` ends the process, as do those of
    /// threads that it starts later. Exit is always allowed; under TSan also mmap, munmap and madvise, which the race
    /// detector needs for its history.
    void allow_only(std::span<const long> allowed);
    void allow_only(std::initializer_list<long> allowed) { allow_only(std::span(allowed.begin(), allowed.size())); }
    void forbid_all() { allow_only(std::span<const long>()); }
};

/// Runs `work` in a forked child, which has one thread. Returns how it ended. Checks of gtest in the child do not reach
/// the test, so `work` returns whether its results were right.
/// Source: seccomp(2), "SECCOMP_RET_TRAP".
[[nodiscard]] GuardedOutcome run_guarded(const std::function<bool(SyscallGuard&)>& work);

}  // namespace millpond::test
