#pragma once

#include <mutex>

#include <nanobind/nanobind.h>

namespace millpond::python {

/// Lock that is held during each step of reading, so that another thread can read the state between two steps. Threads
/// get it in the order of their requests.
class StateLock {
public:
    void lock() {
        const std::scoped_lock turn{turn_};
        state_.lock();
    }
    void unlock() { state_.unlock(); }

private:
    std::mutex turn_;
    std::mutex state_;
};

/// Returns the result of look() while no other thread performs a step. Requires the interpreter's lock, which a step
/// may need.
template <class Look>
[[nodiscard]] auto between_steps(StateLock& state, Look&& look) {
    const nanobind::gil_scoped_release unlocked;
    const std::scoped_lock lock{state};
    return look();
}

}  // namespace millpond::python
