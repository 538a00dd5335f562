#pragma once

#include <atomic>

namespace millpond::app {

/// From now on Ctrl-C (SIGINT) and SIGTERM set the flag that is returned; system calls in progress return early. One
/// that comes more than a second later ends the program at once: `timeout` and terminals may send the first twice.
const std::atomic<bool>& stop_on_signal();

/// From now on SIGHUP sets the flag that is returned; whoever reads its configuration anew sets it back.
std::atomic<bool>& reload_on_signal();

}  // namespace millpond::app
