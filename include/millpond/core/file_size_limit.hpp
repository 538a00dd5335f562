#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>

#include <pthread.h>

namespace millpond::core {

/// Scope in which a write of this thread beyond RLIMIT_FSIZE fails with EFBIG instead of ending the process by SIGXFSZ.
///
/// Threads: one. Source: setrlimit(2), signal(7).
class FileSizeLimit {
public:
    FileSizeLimit() noexcept {
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGXFSZ);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
        pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    }
    ~FileSizeLimit() {
        constexpr timespec kAtOnce{};
        const auto error = errno;  // errno of the write
        if (!was_pending_) sigtimedwait(&signal_, nullptr, &kAtOnce);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = error;
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
    sigset_t signal_;
    sigset_t before_;
    bool was_pending_;
};

}  // namespace millpond::core
