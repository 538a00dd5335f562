#pragma once

#include <atomic>
#include <stdexcept>

namespace millpond::python {

/// Detects a second thread in an object for one thread at a time, with and without the interpreter's lock, and refuses
/// it.
class InUse {
public:
    explicit InUse(std::atomic<bool>& flag) : flag_(flag) {
        if (flag_.exchange(true, std::memory_order_acquire))  // sync "left": the destructor
            throw std::runtime_error("in use by another thread; open one for each thread");
    }
    ~InUse() { flag_.store(false, std::memory_order_release); }  // sync "left": the constructor
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

private:
    std::atomic<bool>& flag_;
};

}  // namespace millpond::python
