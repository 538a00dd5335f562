#pragma once

#include <millpond/core/descriptor.hpp>

namespace millpond::app {

/// A lock of all demos on this machine while one chooses its ports; the destructor releases it. Waits for at most ten
/// seconds.
class PortLock {
public:
    PortLock();

private:
    core::Descriptor socket_;
};

}  // namespace millpond::app
