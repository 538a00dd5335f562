#include "src/engine/session/session_host.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/fix/store_identity.hpp>

#include "src/engine/store/store_opening.hpp"

namespace millpond::engine {
namespace {

constexpr std::size_t kReadsBeforeClaim = 4;
constexpr std::size_t kMaxLingering = 4;

SessionOptions& checked(SessionOptions& options) {
    if (options.dictionary == nullptr) throw std::invalid_argument("a session needs a dictionary");
    return options;
}

}  // namespace

SessionHost::SessionHost(SessionOptions options, Application& application, IoThread& io)
    : application_(&application),
      logon_(checked(options)),
      name_(fix::StoreIdentity::of(options.config).name()),
      store_(open_store(options, core::utc_nanos())),
      file_(options.store.file.empty() ? nullptr : static_cast<fix::FileStore*>(store_.get())),
      session_(options.config, *options.dictionary, options.application, *store_, *this, core::MomentClock{}.now()),
      gauges_(name_, session_),
      handle_(*this, io),
      action_(io.loop()),
      input_(connection_, session_, name_, options.limits, gauges_),
      output_(*this, options, session_, *store_, file_, name_, connection_, action_, gauges_),
      lingering_(io.loop(), kMaxLingering),
      standby_(options, name_, file_, connection_, input_, output_.path(), io.loop(),
               [this](core::Moment now) {
                   act(now, [&] {
                       standby_.follow_link();
                       follow_standby(now);
                   });
               }),
      warm_ups_(options.warm_up) {
    gauges_.enabled.store(options.enabled, std::memory_order_relaxed);
    set_tap(options.tap);
}

void SessionHost::begin(HostObserver* observer) {
    observer_ = observer;
    const auto slot = action_.loop().join(*this);
    handle_.set_slot(slot);
    action_.set_slot(slot);
    if (warm_ups_.wanted()) action_.loop().prepare_warm_ups();
    standby_.begin();
    gauges_.show_store();
}

void SessionHost::end() {
    observer_ = nullptr;
    ended_ = true;
    // The engine is being destroyed: exceptions of the application's callbacks cannot be thrown.
    const auto quietly = [](const auto& call) {
        try {
            call();
        } catch (...) {  // NOLINT(bugprone-empty-catch)
        }
    };
    if (connection_.exists()) {
        cut(Closed::shut_down);
        quietly([&] { release_connection(action_.loop().now()); });
    }
    lingering_.clear();
    standby_.end();
    action_.loop().leave(handle_.slot());
    quietly([&] { report_closed(); });
}

core::Moment SessionHost::now() const noexcept {
    if (!action_.is_running()) action_.update_stamp();
    return action_.stamp();
}

bool SessionHost::may_be_connected(core::Moment now) const noexcept {
    const auto& schedule = config().schedule;
    return enabled() && standby_.permits() && (!drained_by_ns_ || !output_.senders().idle()) &&
           (!schedule || schedule->is_open(now.utc_ns));
}

bool SessionHost::schedule_is_over(std::int64_t utc_ns) const noexcept {
    const auto& schedule = config().schedule;
    return schedule && schedule->is_over(store_->creation_utc_ns(), utc_ns);
}

bool SessionHost::claim_after_reading(core::Moment now) {
    if (claim()) return true;
    // Reads the last bytes, then detects the end of the connection.
    for (std::size_t turn = 0; turn < kReadsBeforeClaim && connection_.exists(); ++turn) on_ready(*connection_, now);
    return claim();
}

void SessionHost::connect(std::unique_ptr<Connection> connection, const InputBuffer& read, core::Moment now) {
    connection_.begin(std::move(connection));
    gauges_.show_peer(connection_.peer());
    input_.begin(read, now);
    output_.begin_connection();
    logon_.begin_connection();
    gauges_.connections.add();
    gauges_.connected_ns.set(static_cast<std::uint64_t>(now.utc_ns));
    gauges_.last_closed.store(Closed::none, std::memory_order_relaxed);
    act(now, [&] {
        connection_->watch(action_.loop(), *this);
        if (!standby_.permits()) {
            refuse(RefusalReason::standby, fix::tag::kInvalid, standby_.refusal());
            cut(standby_.closed_because());
            return;
        }
        session_.on_connect(now);
        input_.hand_over(now);
    });
}

void SessionHost::on_ready(Connection& connection, core::Moment now) {
    if (!connection_.is(connection)) return;
    act(now, [&] {
        if (output_.path().queue().is_ready() || connection.transport().wants_writable()) {
            output_.flush();
            if (!congested()) pump(now);
        }
        if (!input_.is_paused() && input_.read(now)) signal();
    });
}

void SessionHost::cut(Closed reason) noexcept {
    connection_.cut(reason);
    action_.finish_soon();
}

void SessionHost::pump(core::Moment now) {
    session_.allow_keeping(standby_.permits());
    output_.pump(now);
}

bool SessionHost::may_log_on(const fix::Message& logon) {
    if (const auto refusal = logon_.check(logon, session_, peer())) {
        refuse(refusal->reason, refusal->tag, refusal->detail);
        return false;
    }
    return application_->may_log_on(*this, logon);
}

void SessionHost::on_send_admin(fix::AdminDraft& draft) {
    logon_.add_status(draft);
    application_->on_send_admin(*this, draft);
    logon_.sign(draft, action_.stamp().utc_ns);
}

void SessionHost::on_logon() {
    gauges_.logons.add();
    if (observer_ != nullptr) observer_->on_host_logon();
    output_.senders().on_logon();
    application_->on_logon(*this);
    if (!output_.senders().empty()) signal();
}

void SessionHost::on_signal(core::Moment now) {
    act(now, [&] {
        if (connection_.exists() && !input_.is_paused() && connection_->transport().holds_input() && input_.read(now)) {
            signal();
        }
        pump(now);
    });
}

void SessionHost::finish_action(core::Moment now) {
    if (standby_.exists() && standby_.settle(now)) signal();
    if (output_.finish_action()) {
        session_.on_writable(now);
        pump(now);
        output_.flush();
    }
    output_.note_congestion();
    if (connection_.is_ending() && !standby_.delays_end(now)) release_connection(now);
    if (drained_by_ns_) continue_drain(now);
    if (standby_.exists()) {
        if (standby_.settle(now)) signal();
        if (output_.path().queue().is_ready()) output_.flush();
    }
    gauges_.show_state();
    gauges_.pending_bytes.set(output_.path().queue().bytes());
    gauges_.show_store();
    action_.set_timer(next_deadline_ns());
}

/// Handles an exception in the middle of an action. It is unknown which messages the session has processed.
void SessionHost::abandon_action() noexcept {
    action_.end();
    output_.path().abandon_flush();
    if (connection_.exists()) cut(Closed::application_error);
    action_.set_timer(0);  // the remaining work is done in the next round
}

void SessionHost::on_logon_refused(const fix::LogonRefusal& why) {
    refuse(RefusalReason::invalid_logon, why.tag, why.reason);
}

void SessionHost::report_unreachable(const net::SocketAddress& address, std::string_view why) {
    gauges_.last_closed.store(Closed::connect_failed, std::memory_order_relaxed);
    application_->on_refused(*this, {.reason = RefusalReason::unreachable, .peer = address, .detail = why});
}

void SessionHost::refuse(RefusalReason reason, fix::Tag tag, std::string_view detail) {
    if (!logon_.note_refusal()) return;
    application_->on_refused(*this, {.reason = reason, .peer = peer(), .tag = tag, .detail = detail});
}

/// Reason for the end of the connection.
Closed SessionHost::end_reason() const noexcept {
    if (connection_.cut_for() != Closed::none) return connection_.cut_for();
    if (connection_->transport().failed_to_begin()) return Closed::tls_failed;
    const auto ending = session_.ending();
    return ending ? closed_by(*ending) : Closed::by_peer;
}

void SessionHost::release_connection(core::Moment now) {
    logon_.end_connection();
    const auto reason = end_reason();
    if (reason == Closed::tls_failed) {
        refuse(RefusalReason::tls, fix::tag::kInvalid, connection_->transport().failure());
    } else if (reason == Closed::by_peer && session_.state() == fix::Session::State::awaiting_logon) {
        refuse(RefusalReason::closed_by_peer, fix::tag::kInvalid, connection_->transport().failure());
    }
    if (connection_.is_broken()) {
        connection_->unwatch();
        action_.loop().retire(connection_.release());
    } else {
        lingering_.add(connection_.release(), output_.path().queue(), now);
    }
    output_.path().clear();
    input_.clear();
    const bool was_connected = session_.state() != fix::Session::State::disconnected;
    if (was_connected) store_->mark_written(store_->next_sender() - 1);  // the peer will request the unwritten messages
    output_.senders().on_disconnect();
    gauges_.forget_peer();
    gauges_.last_closed.store(reason, std::memory_order_relaxed);
    unreported_end_ = reason;
    connection_.release_claim();
    if (observer_ != nullptr) observer_->on_host_closed(reason, now);
    if (!output_.senders().empty()) signal();  // senders may keep messages while not logged on
    standby_.forget_delay();
    if (was_connected) session_.on_disconnect(now);  // last: calls the application
}

/// Called last, so that all work is done if the callback throws.
void SessionHost::report_closed() {
    if (const auto reason = std::exchange(unreported_end_, Closed::none); reason != Closed::none) {
        application_->on_closed(*this, reason);
    }
}

void SessionHost::on_connection_timer(core::Moment now) {
    if (session_.next_deadline_ns() <= now.monotonic_ns) {
        // A Logon cannot arrive before the handshake is complete.
        if (session_.state() == fix::Session::State::awaiting_logon && connection_->transport().failed_to_begin()) {
            cut(Closed::tls_failed);
        } else {
            session_.on_timer(now);
        }
    }
    if (output_.path().stalled_at_ns() <= now.monotonic_ns) {
        gauges_.slow_consumers.add();
        connection_.set_broken();
        cut(Closed::slow_consumer);
    }
    input_.end_pause(now);
}

std::int64_t SessionHost::on_timer(core::Moment now) {
    act(now, [&] {
        if (connection_.exists()) on_connection_timer(now);
        if (output_.senders().next_deadline_ns() <= now.monotonic_ns) pump(now);
        lingering_.run(now);
        if (warm_ups_.is_due(now)) warm_up(now);
        if (file_ != nullptr) file_->trim();
    });
    return next_deadline_ns();
}

void SessionHost::warm_up(core::Moment now) noexcept {
    const auto& counters = session_.counters();
    const bool idle = warm_ups_.begin_period(counters.received.read() + counters.sent.read(), now);
    if (!idle || !session_.accepts_messages()) return;
    if (action_.loop().may_warm_up(now)) {
        session_.warm_up(now);
        action_.loop().warm_up_socket(now);
        signal();  // also warms the path of a producer's message
    } else {
        warm_ups_.try_again_soon(now);
    }
}

std::int64_t SessionHost::next_deadline_ns() const noexcept {
    auto next = std::min(output_.senders().next_deadline_ns(), lingering_.next_deadline_ns());
    if (connection_.exists()) {
        if (const auto delayed = standby_.delayed_until_ns(); delayed != 0) {
            next = std::min(next, delayed);
        } else if (connection_.is_ending()) {
            next = 0;
        }
        next = std::min({next, session_.next_deadline_ns(), output_.path().stalled_at_ns(), input_.next_deadline_ns()});
    }
    if (warm_ups_.wanted() && session_.accepts_messages()) next = std::min(next, warm_ups_.next_ns());
    if (drained_by_ns_ && !drained()) next = std::min(next, *drained_by_ns_);
    return next;
}

void SessionHost::set_enabled(bool enabled, core::Moment now) {
    gauges_.enabled.store(enabled, std::memory_order_relaxed);
    if (observer_ != nullptr) observer_->on_host_enabled(enabled, now);
}

bool SessionHost::set_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target) {
    const bool free = !connection_.exists() && !claimed();
    if (free && next_sender) store_->skip_to(*next_sender);
    if (free && next_target) store_->set_next_target(*next_target);
    gauges_.show_store();
    standby_.publish(now());
    return free;
}

void SessionHost::set_tap(WireTap* tap) noexcept {
    input_.set_tap(tap);
    output_.path().set_tap(tap);
}

void SessionHost::follow_standby(core::Moment now) {
    if (!standby_.follow_change()) return;
    if (enabled() && observer_ != nullptr) observer_->on_host_enabled(true, now);
    if (!output_.senders().empty()) signal();  // senders may keep messages again
}

void SessionHost::on_drain(core::Moment now, std::int64_t deadline_ns) {
    drained_by_ns_ = deadline_ns;
    output_.senders().close();
    act(now, [&] { pump(now); });
}

void SessionHost::continue_drain(core::Moment now) {
    if (now.monotonic_ns >= *drained_by_ns_) {
        output_.senders().fail_all(SendFailure::shut_down);
        if (connection_.exists()) {
            cut(Closed::shut_down);
            release_connection(now);
        }
        return;
    }
    if (!connection_.exists() || !output_.senders().idle()) return;
    if (session_.state() == fix::Session::State::awaiting_logon) {
        cut(Closed::shut_down);  // also if our Logon waits for a TLS handshake
        release_connection(now);
        return;
    }
    if (!output_.path().queue().empty()) return;
    if (session_.state() == fix::Session::State::active) {
        session_.logout("the engine is stopping", now);
        output_.flush();
    } else if (const auto ending = session_.ending()) {
        cut(closed_by(*ending));
        release_connection(now);
    }
}

bool SessionHost::drained() const noexcept { return !connection_.exists() && output_.senders().idle(); }

}  // namespace millpond::engine
