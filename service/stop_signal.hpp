#pragma once

#include <atomic>

namespace millpond::service {

/// Returns a flag that SIGINT (Ctrl-C) and SIGTERM set; they interrupt system calls in progress. A signal more than a
/// second after the first ends the program immediately: `timeout` and terminals may send the first twice.
const std::atomic<bool>& stop_on_signal();

/// Makes SIGHUP, which a terminal sends when it closes, set the flag of stop_on_signal.
void stop_on_hang_up();

/// Returns a flag that SIGHUP sets. The reader of the configuration clears it.
std::atomic<bool>& reload_on_signal();

}  // namespace millpond::service
