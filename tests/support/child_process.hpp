#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace millpond::test {

/// A forked process that runs one function and ends; killed if it still runs when this object is destroyed.
class ChildProcess {
public:
    /// run: returns the exit status. The process must have one thread: only the calling one exists in the child.
    template <class Run>
        requires std::is_invocable_r_v<int, Run>
    explicit ChildProcess(Run&& run) : pid_(fork()) {
        if (pid_ < 0) throw std::runtime_error("fork failed");
        if (pid_ != 0) return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(std::forward<Run>(run)());
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ~ChildProcess() { kill_now(); }

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Kills the process (SIGKILL) and waits for its end.
    void kill_now() noexcept {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        (void)wait_for_end();
    }

    /// The exit status, or the negative number of the signal that ended it.
    [[nodiscard]] int wait_for_end() noexcept {
        int status = 0;
        waitpid(std::exchange(pid_, 0), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

private:
    pid_t pid_;
};

}  // namespace millpond::test
