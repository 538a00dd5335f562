#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/session_status.hpp>
#include <millpond/engine/wire_tap.hpp>
#include <millpond/metrics/registry.hpp>

namespace millpond::engine {

namespace detail {
class SenderPort;
}

/// Status and commands of a session for other threads. Lives as long as its acceptor or initiator.
///
/// Threads: any.
class SessionHandle {
public:
    /// Name of the session, "FIX.4.4:HOUSE->CLIENT": BeginString, our id, the peer's.
    [[nodiscard]] virtual const std::string& name() const noexcept = 0;
    [[nodiscard]] virtual SessionStatus status() const = 0;
    [[nodiscard]] virtual IoThread& io() const noexcept = 0;

    // Requests are performed later, on the I/O thread.
    /// Starts the Logout handshake. The session stays logged out until `request_logon`.
    virtual void request_logout(std::string reason) = 0;
    /// Lets the session connect or accept its peer again.
    virtual void request_logon() = 0;
    /// Resets both numbers; a session that is logged on logs out first.
    virtual void request_reset() = 0;
    /// Sets the numbers of a session that is not connected. done: called with false if the session is connected, so
    /// that nothing changed.
    virtual void request_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target,
                                 std::function<void(bool done)> done = {}) = 0;

    /// Runs a session here again after another machine has taken over, as the next epoch. done: called with an error,
    /// or an empty string.
    virtual void request_promotion(std::function<void(std::string error)> done) = 0;
    /// Stops the session because another machine has taken over with this epoch. It does not run until it is promoted.
    virtual void request_supersede(std::uint64_t epoch) = 0;

    /// Sets the session's tap, which must outlive the session; null: no tap.
    virtual void set_tap(WireTap* tap) = 0;

    /// Adds the session's counters to the registry; the label `session` is its name.
    [[nodiscard]] virtual std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const = 0;

    /// Interface for AsyncSender.
    [[nodiscard]] virtual detail::SenderPort& sender_port() noexcept = 0;

protected:
    ~SessionHandle() = default;
};

}  // namespace millpond::engine
