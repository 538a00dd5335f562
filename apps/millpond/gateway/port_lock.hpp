#pragma once

#include <millpond/core/descriptor.hpp>

namespace millpond::app {

/// A lock of all demos on this machine while one chooses its ports; the destructor releases it. Waits for at most a
/// minute: a start takes some seconds on a busy machine.
class PortLock {
public:
    PortLock();

private:
    core::Descriptor socket_;
};

}  // namespace millpond::app
