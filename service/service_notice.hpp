#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <millpond/core/descriptor.hpp>

namespace millpond::service {

/// Notifies the service manager of the state. Does nothing without one.
///
/// Threads: one.
/// Source:  sd_notify(3): datagrams of VARIABLE=VALUE lines to the socket that NOTIFY_SOCKET names; WATCHDOG_USEC and
///          WATCHDOG_PID, sd_watchdog_enabled(3).
class ServiceNotice {
public:
    /// Reads the three variables from the environment.
    ServiceNotice();

    void ready() { notify("READY=1"); }
    /// monotonic_now: lets the manager match this notice with its request.
    void reloading(std::chrono::nanoseconds monotonic_now);
    void stopping() { notify("STOPPING=1"); }

    /// Notifies the watchdog, three times in its timeout, while `alive`; call it often. Without a notice within the
    /// timeout the manager restarts the program.
    void beat(bool alive, std::chrono::nanoseconds now);

private:
    void notify(std::string_view text) const;

    core::Descriptor socket_;
    std::string address_;
    std::chrono::nanoseconds span_{0};
    std::chrono::nanoseconds beaten_{0};
};

}  // namespace millpond::service
