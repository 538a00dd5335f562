#include "session_action.hpp"
#include "session_host.hpp"

namespace millpond::engine {

void SessionHost::set_enabled(bool enabled) noexcept {
    enabled_ = enabled;
    gauges_.enabled.store(enabled, std::memory_order_relaxed);
}

void SessionHost::disable(std::string_view reason) {
    const auto now = io_->now();
    act(now, [&] {
        set_enabled(false);
        if (observer_ != nullptr) observer_->on_host_enabled(false, now);
        session_.logout(reason, now);
    });
}

void SessionHost::enable() {
    set_enabled(true);
    if (observer_ != nullptr) observer_->on_host_enabled(true, io_->now());
}

void SessionHost::reset() {
    const auto now = io_->now();
    act(now, [&] { session_.reset(now); });
}

bool SessionHost::set_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target) {
    const bool free = !connection_.exists() && !claimed();
    if (free && next_sender) store_->skip_to(*next_sender);
    if (free && next_target) store_->set_next_target(*next_target);
    gauges_.show_store();
    standby_.publish(io_->now());
    return free;
}

void SessionHost::set_tap(WireTap* tap) noexcept {
    input_.set_tap(tap);
    output_.set_tap(tap);
}

void SessionHost::on_drain(core::Moment now, std::int64_t deadline_ns) {
    drained_by_ns_ = deadline_ns;
    senders_.close();
    act(now, [&] { pump(now); });
}

void SessionHost::continue_drain(core::Moment now) {
    if (now.monotonic_ns >= *drained_by_ns_) {
        senders_.fail_all(SendFailure::shut_down);
        if (connection_.exists()) {
            cut(Closed::shut_down);
            let_go(now);
        }
        return;
    }
    if (!connection_.exists() || !senders_.idle()) return;
    if (session_.state() == fix::Session::State::awaiting_logon) {
        cut(Closed::shut_down);  // also while our Logon waits for a TLS handshake
        let_go(now);
        return;
    }
    if (!output_.queue().empty()) return;
    if (session_.state() == fix::Session::State::active) {
        session_.logout("the engine is stopping", now);
        flush();
    } else if (const auto ending = session_.ending()) {
        cut(closed_by(*ending));
        let_go(now);
    }
}

/// At the ends of an action.
void SessionHost::settle_standby(core::Moment now) {
    standby_.settle(now);
    if (connection_.exists() && !connection_.is_ending() && input_.set_stopped(output_.holds_much())) signal();
}

void SessionHost::follow_standby(core::Moment now) {
    if (!standby_.has_changed()) return;
    // What is held back is never written then.
    if (!standby_.permits() && connection_.exists()) cut(standby_.closed_because());
    if (standby_.permits() && enabled_ && observer_ != nullptr) observer_->on_host_enabled(true, now);
    if (standby_.permits() && !senders_.empty()) signal();  // messages that may be kept again
}

void SessionHost::supersede(std::uint64_t epoch) {
    if (!standby_.supersede(epoch)) return;
    const auto now = io_->now();
    act(now, [&] { follow_standby(now); });
}

std::string SessionHost::promote() {
    const auto now = io_->now();
    auto error = standby_.promote(store_->next_sender(), now);
    if (error.empty()) act(now, [&] { follow_standby(now); });
    return error;
}

bool SessionHost::drained() const noexcept { return !connection_.exists() && senders_.idle(); }

}  // namespace millpond::engine
