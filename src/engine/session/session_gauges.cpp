#include "src/engine/session/session_gauges.hpp"

#include <millpond/core/clock.hpp>

namespace millpond::engine {

void SessionGauges::show_peer(const net::SocketAddress& peer) {
    const std::lock_guard guard{peer_lock_};
    peer_text_ = peer.to_string();
}

void SessionGauges::forget_peer() {
    const std::lock_guard guard{peer_lock_};
    peer_text_.clear();
}

void SessionGauges::show_store() noexcept {
    const auto& store = session_->store();
    next_sender.set(store.next_sender());
    next_target.set(store.next_target());
    capacity_bytes.set(store.capacity_bytes());
    reset_ns.set(static_cast<std::uint64_t>(store.creation_utc_ns()));
}

SessionStatus SessionGauges::status() const {
    SessionStatus status{.name = *name_, .role = session_->config().role};
    status.state = state.load(std::memory_order_relaxed);
    {
        const std::lock_guard guard{peer_lock_};
        status.peer = peer_text_;
    }
    const auto& schedule = session_->config().schedule;
    const auto now = core::utc_nanos();
    const auto reset = static_cast<std::int64_t>(reset_ns.read());
    status.open = !schedule || schedule->is_open(now);
    if (schedule && schedule->is_set_back(reset, now)) status.set_back_ns = reset - now;
    status.enabled = enabled.load(std::memory_order_relaxed);
    status.resending = resending.load(std::memory_order_relaxed);
    status.awaits_resend = awaits_resend.load(std::memory_order_relaxed);
    status.next_sender = next_sender.read();
    status.next_target = next_target.read();
    status.last_received_utc_ns = static_cast<std::int64_t>(last_received_ns.read());
    status.last_sent_utc_ns = static_cast<std::int64_t>(last_sent_ns.read());
    status.connected_utc_ns = static_cast<std::int64_t>(connected_ns.read());
    status.connections = connections.read();
    status.last_closed = last_closed.load(std::memory_order_relaxed);
    const auto& counters = session_->counters();
    status.received = counters.received.read();
    status.sent = counters.sent.read();
    status.resent = counters.resent.read();
    status.rejected = counters.rejected.read();
    status.garbled = counters.garbled.read();
    status.pending_bytes = pending_bytes.read();
    status.lost_fills = counters.lost_fills.read();
    status.lost = counters.lost.read();
    status.beyond = counters.beyond.read();
    status.store_damaged = session_->store().counters().damaged.read();
    status.store_failures = session_->store().counters().failures.read();
    return status;
}

std::vector<metrics::Registration> SessionGauges::add_metrics(metrics::Registry& registry) const {
    std::vector<metrics::Registration> list;
    const metrics::Labels labels{{"session", *name_}};
    const auto counter = [&](const char* name, const char* help, const core::Tally& tally) {
        list.push_back(registry.add_counter({name, help, labels}, tally));
    };
    const auto gauge = [&](const char* name, const char* help, const core::Tally& tally) {
        list.push_back(registry.add_gauge({name, help, labels}, tally));
    };
    const auto& counters = session_->counters();
    counter("millpond_fix_received_total", "Complete messages received.", counters.received);
    counter("millpond_fix_sent_total", "Messages sent for the first time, with a new sequence number.", counters.sent);
    counter("millpond_fix_garbled_total", "Byte ranges that were not a message.", counters.garbled);
    counter("millpond_fix_too_long_total", "Messages longer than max_message_bytes, ignored.", counters.too_long);
    counter("millpond_fix_rejected_total", "Rejects sent.", counters.rejected);
    counter("millpond_fix_duplicates_total", "PossDup messages that had already been received.", counters.duplicates);
    counter("millpond_fix_held_total", "Out-of-order messages that were held.", counters.held);
    counter("millpond_fix_held_dropped_total", "Out-of-order messages that did not fit.", counters.held_dropped);
    counter("millpond_fix_resend_requests_total", "ResendRequests sent.", counters.requests);
    counter("millpond_fix_resent_total", "Messages resent.", counters.resent);
    counter("millpond_fix_withheld_total", "Messages that the application refused to resend, replaced by gap fills.",
            counters.withheld);
    counter("millpond_fix_gap_fills_total", "Gap fills sent.", counters.gap_fills);
    counter("millpond_fix_history_lost_fills_total",
            "Gap fills sent because messages were not in the store, or damaged there.", counters.lost_fills);
    counter("millpond_fix_history_lost_total",
            "Messages that the counterparty requested and that are not in the store, or damaged there.", counters.lost);
    counter("millpond_fix_resend_requests_beyond_total",
            "ResendRequests of the peer for numbers that were not sent yet, which were rejected.", counters.beyond);
    counter("millpond_fix_warm_ups_total", "Times that the idle session was brought into the caches.",
            counters.warm_ups);
    counter("millpond_fix_kept_total", "Messages that got a number and stay in the store: not logged on.",
            counters.kept);
    counter("millpond_fix_connections_total", "Connections of the session.", connections);
    counter("millpond_fix_logons_total", "Completed Logons.", logons);
    counter("millpond_fix_slow_consumer_total", "Connections closed because the counterparty read too slowly.",
            slow_consumers);
    counter("millpond_fix_paused_total", "Times that reading was slowed because the counterparty exceeded its rate.",
            paused_times);
    list.push_back(registry.add_gauge(
        {"millpond_fix_state", "0 disconnected, 1 awaiting logon, 2 active, 3 awaiting logout.", labels},
        [this] { return static_cast<double>(state.load(std::memory_order_relaxed)); }));
    gauge("millpond_fix_next_sender", "Sequence number of the next message to send.", next_sender);
    gauge("millpond_fix_next_target", "Sequence number of the next message expected.", next_target);
    gauge("millpond_fix_pending_bytes", "Bytes not yet written to the socket.", pending_bytes);
    const auto& store = session_->store().counters();
    counter("millpond_fix_store_messages_total", "Messages stored.", store.stored);
    counter("millpond_fix_store_overwritten_total", "Messages evicted for newer ones.", store.overwritten);
    counter("millpond_fix_store_refused_total", "Messages that did not fit.", store.refused);
    counter("millpond_fix_store_resets_total", "Resets of the sequence numbers.", store.resets);
    counter("millpond_fix_store_damaged_total", "Stored messages that were found damaged, counted at each read.",
            store.damaged);
    counter("millpond_fix_store_failures_total",
            "Failed attempts to prepare the next file of the store, for example because the disk is full.",
            store.failures);
    gauge("millpond_fix_store_used_bytes", "Bytes of messages held.", store.used_bytes);
    gauge("millpond_fix_store_peak_bytes", "Maximum number of bytes of messages held.", store.peak_bytes);
    gauge("millpond_fix_store_capacity_bytes", "Capacity of the store for messages, in bytes.", capacity_bytes);
    return list;
}

}  // namespace millpond::engine
