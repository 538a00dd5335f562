#pragma once

#include <cerrno>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <millpond/core/exceptions.hpp>

namespace millpond::core {

/// The processors on which the calling thread may run, in ascending order.
[[nodiscard]] std::vector<int> allowed_cpus();

/// Binds the calling thread, and threads that it starts later, to one processor.
/// Throws std::invalid_argument if the thread may not run there; the text lists the permitted processors.
void pin_this_thread(int cpu);

/// Gives the calling thread the policy SCHED_FIFO: it runs before ordinary threads and is not preempted by threads of
/// the same priority. priority: 1 to 99. Throws std::invalid_argument for others, std::system_error if the kernel
/// refuses: the text names the capability and the limit that would permit it.
void set_realtime(int priority);

inline std::vector<int> allowed_cpus() {
    // The kernel refuses a mask that is too small with EINVAL: enlarge it until it fits.
    for (int count = CPU_SETSIZE;; count *= 2) {
        cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(count));
        if (set == nullptr) MILLPOND_THROW(std::bad_alloc());
        const auto bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
        CPU_ZERO_S(bytes, set);
        const int failed = sched_getaffinity(0, bytes, set);
        const int error = errno;
        std::vector<int> cpus;
        for (int cpu = 0; failed == 0 && cpu < count; ++cpu) {
            if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
        }
        CPU_FREE(set);
        if (failed == 0) return cpus;
        if (error != EINVAL)
            MILLPOND_THROW(std::system_error(error, std::generic_category(), "affinity: cannot read it"));
    }
}

inline void pin_this_thread(int cpu) {
    const auto allowed = allowed_cpus();
    std::string list;
    bool found = false;
    for (const int one : allowed) {
        found = found || one == cpu;
        list += (list.empty() ? "" : ",") + std::to_string(one);
    }
    if (!found) {
        MILLPOND_THROW(std::invalid_argument("pin: this thread may not run on processor " + std::to_string(cpu) +
                                             ", only on " + list));
    }
    const auto count = static_cast<std::size_t>(cpu) + 1;
    cpu_set_t* const set = CPU_ALLOC(count);
    if (set == nullptr) MILLPOND_THROW(std::bad_alloc());
    const auto bytes = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
    const int error = pthread_setaffinity_np(pthread_self(), bytes, set);
    CPU_FREE(set);
    if (error != 0) {
        MILLPOND_THROW(std::system_error(error, std::generic_category(), "pin: processor " + std::to_string(cpu)));
    }
}

inline void set_realtime(int priority) {
    constexpr int kMaxPriority = 99;
    if (priority < 1 || priority > kMaxPriority) {
        MILLPOND_THROW(std::invalid_argument("realtime: priority " + std::to_string(priority) + " is not in 1 to 99"));
    }
    sched_param parameters{};
    parameters.sched_priority = priority;
    const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
    if (error == 0) return;
    rlimit limit{};
    getrlimit(RLIMIT_RTPRIO, &limit);
    MILLPOND_THROW(
        std::system_error(error, std::generic_category(),
                          "realtime: SCHED_FIFO priority " + std::to_string(priority) +
                              " was refused; grant CAP_SYS_NICE (setcap cap_sys_nice+ep, AmbientCapabilities=) or "
                              "raise rtprio (ulimit -r, LimitRTPRIO=), which is " +
                              std::to_string(limit.rlim_cur)));
}

}  // namespace millpond::core
