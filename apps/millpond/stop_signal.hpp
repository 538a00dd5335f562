#pragma once

#include <atomic>

namespace millpond::app {

/// From now on Ctrl-C (SIGINT) and SIGTERM set the flag that is returned; system calls in progress return early. A
/// second one ends the program as usual.
const std::atomic<bool>& stop_on_signal();

}  // namespace millpond::app
