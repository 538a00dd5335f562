#include <algorithm>

#include "session_host.hpp"

namespace millpond::engine {

SessionStatus SessionHost::status() const {
    SessionStatus status{.name = name_, .role = config().role};
    status.state = state_.load(std::memory_order_relaxed);
    {
        const std::lock_guard guard{peer_lock_};
        status.peer = peer_text_;
    }
    status.next_sender = next_sender_.read();
    status.next_target = next_target_.read();
    status.last_received_utc_ns = static_cast<std::int64_t>(last_received_ns_.read());
    status.last_sent_utc_ns = static_cast<std::int64_t>(last_sent_ns_.read());
    status.connected_utc_ns = static_cast<std::int64_t>(connected_ns_.read());
    status.connections = connections_.read();
    status.last_closed = last_closed_.load(std::memory_order_relaxed);
    const auto& tallies = session_.tallies();
    status.received = tallies.received.read();
    status.sent = tallies.sent.read();
    status.resent = tallies.resent.read();
    status.rejected = tallies.rejected.read();
    status.pending_bytes = pending_bytes_.read();
    status.lost_fills = tallies.lost_fills.read();
    status.lost = tallies.lost.read();
    return status;
}

std::vector<metrics::Registration> SessionHost::add_metrics(metrics::Registry& registry) const {
    std::vector<metrics::Registration> list;
    const metrics::Labels labels{{"session", name_}};
    const auto counter = [&](const char* name, const char* help, const core::Tally& tally) {
        list.push_back(registry.add_counter({name, help, labels}, tally));
    };
    const auto gauge = [&](const char* name, const char* help, const core::Tally& tally) {
        list.push_back(registry.add_gauge({name, help, labels}, tally));
    };
    const auto& tallies = session_.tallies();
    counter("millpond_fix_received_total", "Messages that came whole.", tallies.received);
    counter("millpond_fix_sent_total", "Messages with a number of their own.", tallies.sent);
    counter("millpond_fix_garbled_total", "Stretches of bytes that were no message.", tallies.garbled);
    counter("millpond_fix_rejected_total", "Rejects sent.", tallies.rejected);
    counter("millpond_fix_duplicates_total", "PossDup messages that were had already.", tallies.duplicates);
    counter("millpond_fix_held_total", "Messages that came early and were kept.", tallies.held);
    counter("millpond_fix_held_dropped_total", "Messages that came early and found no room.", tallies.held_dropped);
    counter("millpond_fix_resend_requests_total", "ResendRequests sent.", tallies.requests);
    counter("millpond_fix_resent_total", "Messages resent.", tallies.resent);
    counter("millpond_fix_gap_fills_total", "Gap fills sent.", tallies.gap_fills);
    counter("millpond_fix_history_lost_fills_total", "Gap fills in place of messages that are not in the store.",
            tallies.lost_fills);
    counter("millpond_fix_history_lost_total", "Messages that the peer asked for and the store no longer has.",
            tallies.lost);
    counter("millpond_fix_connections_total", "Connections of the session.", connections_);
    counter("millpond_fix_logons_total", "Logons that were complete.", logons_);
    counter("millpond_fix_slow_consumer_total", "Connections cut off: the peer took too little.", slow_consumers_);
    counter("millpond_fix_paused_total", "Times the peer was read more slowly: it sent more than its rate.",
            paused_times_);
    list.push_back(registry.add_gauge(
        {"millpond_fix_state", "0 disconnected, 1 awaiting logon, 2 active, 3 awaiting logout.", labels},
        [this] { return static_cast<double>(state_.load(std::memory_order_relaxed)); }));
    gauge("millpond_fix_next_sender", "The number of the next message to send.", next_sender_);
    gauge("millpond_fix_next_target", "The number of the next message expected.", next_target_);
    gauge("millpond_fix_pending_bytes", "Bytes sent that the socket has not taken.", pending_bytes_);
    const auto& store = store_->tallies();
    counter("millpond_fix_store_messages_total", "Messages stored.", store.stored);
    counter("millpond_fix_store_overwritten_total", "Messages evicted for newer ones.", store.overwritten);
    counter("millpond_fix_store_refused_total", "Messages that found no room.", store.refused);
    counter("millpond_fix_store_resets_total", "Resets of the sequence numbers.", store.resets);
    gauge("millpond_fix_store_used_bytes", "Bytes of messages kept.", store.used_bytes);
    gauge("millpond_fix_store_peak_bytes", "Most bytes of messages kept.", store.peak_bytes);
    gauge("millpond_fix_store_capacity_bytes", "Bytes of messages that the store keeps.", capacity_bytes_);
    return list;
}

}  // namespace millpond::engine
