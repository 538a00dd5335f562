#pragma once

#include <atomic>

namespace millpond::service {

/// From now on Ctrl-C (SIGINT) and SIGTERM set the flag that is returned; system calls in progress return early. One
/// that comes more than a second later ends the program at once: `timeout` and terminals may send the first twice.
const std::atomic<bool>& stop_on_signal();

/// From now on SIGHUP, which a terminal sends when it closes, does the same.
void stop_on_hang_up();

/// From now on SIGHUP sets the flag that is returned; the reader of the configuration clears it.
std::atomic<bool>& reload_on_signal();

}  // namespace millpond::service
