#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/engine/session_status.hpp>
#include <millpond/fix/session.hpp>
#include <millpond/metrics/registry.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// State of a session that other threads may read.
///
/// Threads: written on the session's I/O thread; status and add_metrics on any.
class SessionGauges {
public:
    /// name, session: must outlive it.
    SessionGauges(const std::string& name, const fix::Session& session) noexcept : name_(&name), session_(&session) {}

    void show_peer(const net::SocketAddress& peer);
    void forget_peer();
    void show_store() noexcept;
    void show_state() noexcept {
        state.store(session_->state(), std::memory_order_relaxed);
        resending.store(session_->is_resending(), std::memory_order_relaxed);
        awaits_resend.store(session_->awaits_resend(), std::memory_order_relaxed);
    }

    [[nodiscard]] SessionStatus status() const;
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;

    std::atomic<fix::Session::State> state{fix::Session::State::disconnected};
    std::atomic<Closed> last_closed{Closed::none};
    std::atomic<bool> enabled{true};
    std::atomic<bool> resending{false};
    std::atomic<bool> awaits_resend{false};
    core::Tally logons;
    core::Tally connections;
    core::Tally pending_bytes;
    core::Tally next_sender;
    core::Tally next_target;
    core::Tally capacity_bytes;
    core::Tally reset_ns;
    core::Tally connected_ns;
    core::Tally last_received_ns;
    core::Tally last_sent_ns;
    core::Tally slow_consumers;
    core::Tally paused_times;

private:
    const std::string* name_;
    const fix::Session* session_;
    mutable std::mutex peer_lock_;  // protects peer_text_, which changes only with connections
    std::string peer_text_;
};

}  // namespace millpond::engine
