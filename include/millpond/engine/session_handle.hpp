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
class Sender;
}

/// A session of an acceptor or initiator, as other threads may see and steer it. Lives as long as that.
///
/// Threads: any.
class SessionHandle {
public:
    /// "FIX.4.4:HOUSE->CLIENT": BeginString, our id, the peer's.
    [[nodiscard]] virtual const std::string& name() const noexcept = 0;
    [[nodiscard]] virtual SessionStatus status() const = 0;
    [[nodiscard]] virtual IoThread& io() const noexcept = 0;

    /// These are done on the I/O thread, soon.
    /// Begins the Logout handshake. An initiator stays logged out until `request_logon`.
    virtual void request_logout(std::string reason) = 0;
    /// An initiator connects again, an acceptor lets the peer in again.
    virtual void request_logon() = 0;
    /// Resets both numbers; a session that is logged on logs out first.
    virtual void request_reset() = 0;
    /// Sets the numbers of a session that is not connected. `done` false: it is connected, and nothing changed.
    virtual void request_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target,
                                 std::function<void(bool done)> done = {}) = 0;

    /// Has a session that another machine took over from run here again, as the next epoch. `done`: an error, or empty:
    /// it runs.
    virtual void request_promotion(std::function<void(std::string error)> done) = 0;
    /// Another machine has taken over with this epoch: the session ends, and does not run until it is promoted.
    virtual void request_supersede(std::uint64_t epoch) = 0;

    /// Null: no tap. Must outlive the session.
    virtual void set_tap(WireTap* tap) = 0;

    /// Lists the session's counters; the label `session` is its name.
    [[nodiscard]] virtual std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const = 0;

    /// For AsyncSender and ChannelSender.
    virtual void attach(detail::Sender& sender) = 0;
    virtual void detach(detail::Sender& sender) noexcept = 0;
    virtual void signal() noexcept = 0;

protected:
    ~SessionHandle() = default;
};

}  // namespace millpond::engine
