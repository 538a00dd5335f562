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
    /// Takes the three variables from the environment.
    ServiceNotice();

    void ready() { tell("READY=1"); }
    /// monotonic_now: with it a manager recognises the answer to its own request.
    void reloading(std::chrono::nanoseconds monotonic_now);
    void stopping() { tell("STOPPING=1"); }

    /// To be called often: beats the watchdog three times in its span, when it is on and all is `alive`. Without a beat
    /// for that span the manager ends the program and restarts it.
    void beat(bool alive, std::chrono::nanoseconds now);

private:
    void tell(std::string_view text) const;

    core::Descriptor socket_;
    std::string address_;
    std::chrono::nanoseconds span_{0};
    std::chrono::nanoseconds beaten_{0};
};

}  // namespace millpond::service
