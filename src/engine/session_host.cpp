#include "session_host.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <millpond/core/clock.hpp>

#include "session_action.hpp"
#include "store_opening.hpp"

namespace millpond::engine {
namespace {

constexpr std::size_t kReadsBeforeClaim = 4;
constexpr std::size_t kLeavingAtMost = 4;

SessionOptions checked(SessionOptions options) {
    if (options.dictionary == nullptr) throw std::invalid_argument("a session needs a dictionary");
    return options;
}

}  // namespace

SessionHost::SessionHost(SessionOptions options, Application& application, IoThread& io)
    : io_(&io),
      application_(&application),
      allowed_(options.allowed),
      guard_(options.guard),
      signer_(options.signer),
      sent_(options.sent),
      name_(identity_of(checked(options).config).name()),
      store_(open_store(options, core::utc_nanos())),
      file_(options.store.file.empty() ? nullptr : static_cast<fix::FileStore*>(store_.get())),
      session_(options.config, *options.dictionary, options.application, *store_, *this, core::MomentClock{}.now()),
      gauges_(name_, session_),
      handle_(*this, io),
      input_(connection_, session_, name_, options.limits, gauges_),
      output_(connection_, *store_, file_, name_, options.limits, options.config.max_message_bytes, stamp_),
      senders_(session_, output_, stamp_),
      farewell_(io, kLeavingAtMost),
      standby_(options, name_, file_, connection_, output_, io,
               [this](core::Moment now) {
                   act(now, [&] {
                       standby_.follow_link();
                       follow_standby(now);
                   });
               }),
      warm_ups_(options.warm_up) {
    const auto* const logon = options.dictionary->message("A");
    has_session_status_ = logon != nullptr && logon->fields.find(fix::tag::kSessionStatus) != nullptr;
    set_enabled(options.enabled);
}

void SessionHost::begin(HostObserver* observer) {
    observer_ = observer;
    handle_.set_slot(io_->join(*this));
    if (warm_ups_.wanted()) io_->prepare_warm_ups();
    standby_.begin();
    gauges_.show_store();
}

void SessionHost::end() {
    observer_ = nullptr;
    ended_ = true;
    // The engine is being destroyed: exceptions of the application's callbacks cannot be passed on.
    const auto quietly = [](const auto& call) {
        try {
            call();
        } catch (...) {  // NOLINT(bugprone-empty-catch)
        }
    };
    if (connection_.exists()) {
        cut(Closed::shut_down);
        quietly([&] { let_go(io_->now()); });
    }
    farewell_.clear();
    standby_.end();
    io_->leave(handle_.slot());
    quietly([&] { tell_closed(); });
}

core::Moment SessionHost::now() const noexcept {
    if (!acting_) stamp_ = io_->now();
    return stamp_;
}

bool SessionHost::may_be_connected(core::Moment now) const noexcept {
    const auto& schedule = config().schedule;
    return enabled_ && standby_.permits() && (!drained_by_ns_ || !senders_.idle()) &&
           (!schedule || schedule->is_open(now.utc_ns));
}

bool SessionHost::schedule_is_over(std::int64_t utc_ns) const noexcept {
    const auto& schedule = config().schedule;
    return schedule && !schedule->same_session(store_->creation_utc_ns(), utc_ns);
}

bool SessionHost::claim_after_reading(core::Moment now) {
    if (claim()) return true;
    // The last bytes first, then the end of the connection.
    for (std::size_t turn = 0; turn < kReadsBeforeClaim && connection_.exists(); ++turn) on_ready(*connection_, now);
    return claim();
}

void SessionHost::connect(std::unique_ptr<Connection> connection, const InputBuffer& read, core::Moment now) {
    connection_.begin(std::move(connection));
    gauges_.show_peer(connection_.peer());
    input_.begin(read, now);
    output_.clear();
    was_congested_ = refused_ = false;
    gauges_.connections.add();
    gauges_.connected_ns.set(static_cast<std::uint64_t>(now.utc_ns));
    gauges_.last_closed.store(Closed::none, std::memory_order_relaxed);
    act(now, [&] {
        connection_->watch(*io_, *this);
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
        if (output_.queue().is_ready() || connection.transport().wants_writable()) {
            flush();
            if (!congested()) pump(now);
        }
        if (!input_.is_paused() && input_.read(now)) signal();
    });
}

void SessionHost::cut(Closed reason) noexcept {
    connection_.cut(reason);
    if (!acting_ && connection_.exists()) io_->wants_timer(handle_.slot(), 0);  // noticed in the next round
}

void SessionHost::send(std::uint64_t sequence, std::string_view bytes) {
    if (sent_ != nullptr && sequence != 0) sent_->on_sent(*this, bytes);
    if (!connection_.is_open()) return;
    gauges_.last_sent_ns.set(static_cast<std::uint64_t>(stamp_.utc_ns));
    const bool added = output_.add(sequence, bytes);
    if (!acting_ || output_.is_due()) {
        flush();
        stamp_ = io_->now();
    }
    if (!added || output_.is_too_much()) {
        gauges_.slow_consumers.add();
        cut(Closed::slow_consumer);
        connection_.set_broken();
    }
}

void SessionHost::flush() {
    const bool was_congested = congested();
    output_.flush([&](std::uint64_t sequence) {
        if (senders_.on_written(sequence)) signal();
    });
    if (was_congested && !congested() && !senders_.empty()) signal();  // no event of the socket follows
}

void SessionHost::pump(core::Moment now) {
    session_.allow_keeping(standby_.permits());
    if (senders_.run(now, [&] { flush(); })) signal();
}

bool SessionHost::may_log_on(const fix::Message& logon) {
    if (config().role == fix::Role::acceptor && !allowed_.contains(peer())) {
        refuse(RefusalReason::not_allowed, fix::tag::kInvalid, kNotOfSession);
        return false;
    }
    return (guard_ == nullptr || keeps_user(logon)) && application_->may_log_on(*this, logon);
}

/// A guard is asked once for each connection, before its first Logon; a later Logon must not need more rights.
bool SessionHost::keeps_user(const fix::Message& logon) {
    const auto user = logon.text(fix::tag::kUsername).value_or("");
    if (session_.state() == fix::Session::State::awaiting_logon) {
        username_ = user;
        return true;
    }
    if (logon.text(fix::tag::kNewPassword)) {
        refuse(RefusalReason::not_admitted, fix::tag::kNewPassword, "NewPassword in a Logon that is not the first");
        return false;
    }
    if (user == username_) return true;
    refuse(RefusalReason::not_admitted, fix::tag::kUsername, "not the user of the first Logon");
    return false;
}

void SessionHost::on_send_admin(fix::AdminDraft& draft) {
    if (draft.is_logon() && std::exchange(confirms_new_password_, false)) {
        static_cast<void>(draft.set(fix::tag::kSessionStatus, "1"));
    }
    application_->on_send_admin(*this, draft);
    if (signer_ != nullptr && draft.is_logon() && config().role == fix::Role::initiator) {
        signer_->sign(draft, stamp_.utc_ns);
    }
}

void SessionHost::on_logon() {
    gauges_.logons.add();
    if (observer_ != nullptr) observer_->on_host_logon();
    senders_.on_logon();
    application_->on_logon(*this);
    if (!senders_.empty()) signal();
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
    if (standby_.exists()) settle_standby(now);
    flush();
    if (connection_.exists() && !connection_.is_ending() && was_congested_ && !congested()) {
        was_congested_ = false;
        session_.on_writable(now);
        pump(now);
        flush();
    }
    was_congested_ = was_congested_ || congested();
    if (connection_.is_ending() && !standby_.delays_end(now)) let_go(now);
    if (drained_by_ns_) continue_drain(now);
    if (standby_.exists()) {
        settle_standby(now);
        if (output_.queue().is_ready()) flush();
    }
    gauges_.show_state();
    gauges_.pending_bytes.set(output_.queue().bytes());
    gauges_.show_store();
    io_->wants_timer(handle_.slot(), next_deadline_ns());
}

/// A callback threw in the middle of an action. It is unknown which messages the session has processed.
void SessionHost::abandon_action() noexcept {
    acting_ = false;
    output_.abandon_flush();
    if (connection_.exists()) cut(Closed::application_error);
    io_->wants_timer(handle_.slot(), 0);  // the remaining work is done in the next round
}

void SessionHost::on_logon_refused(const fix::LogonRefusal& why) {
    refuse(RefusalReason::invalid_logon, why.tag, why.reason);
}

void SessionHost::report_unreachable(const net::SocketAddress& address, std::string_view why) {
    gauges_.last_closed.store(Closed::connect_failed, std::memory_order_relaxed);
    application_->on_refused(*this, {.reason = RefusalReason::unreachable, .peer = address, .detail = why});
}

void SessionHost::refuse(RefusalReason reason, fix::Tag tag, std::string_view detail) {
    if (std::exchange(refused_, true)) return;
    application_->on_refused(*this, {.reason = reason, .peer = peer(), .tag = tag, .detail = detail});
}

/// Why the connection ends.
Closed SessionHost::end_reason() const noexcept {
    if (connection_.cut_for() != Closed::none) return connection_.cut_for();
    if (connection_->transport().failed_to_begin()) return Closed::tls_failed;
    const auto ending = session_.ending();
    return ending ? closed_by(*ending) : Closed::by_peer;
}

void SessionHost::let_go(core::Moment now) {
    confirms_new_password_ = false;
    const auto reason = end_reason();
    if (reason == Closed::tls_failed) {
        refuse(RefusalReason::tls, fix::tag::kInvalid, connection_->transport().failure());
    } else if (reason == Closed::by_peer && session_.state() == fix::Session::State::awaiting_logon) {
        refuse(RefusalReason::closed_by_peer, fix::tag::kInvalid, connection_->transport().failure());
    }
    if (connection_.is_broken()) {
        connection_->unwatch();
        io_->retire(connection_.release());
    } else {
        farewell_.add(connection_.release(), output_.queue(), now);
    }
    output_.clear();
    input_.clear();
    const bool knew_of_it = session_.state() != fix::Session::State::disconnected;
    if (knew_of_it) store_->mark_written(store_->next_sender() - 1);  // the peer will request what was not written
    senders_.on_disconnect();
    gauges_.forget_peer();
    gauges_.last_closed.store(reason, std::memory_order_relaxed);
    told_ = reason;
    give_up_claim();
    if (observer_ != nullptr) observer_->on_host_closed(reason, now);
    if (!senders_.empty()) signal();  // messages kept while not logged on
    standby_.forget_delay();
    if (knew_of_it) session_.on_disconnect(now);  // last: it calls the application
}

/// Last, so that everything is done when the callback throws.
void SessionHost::tell_closed() {
    if (const auto reason = std::exchange(told_, Closed::none); reason != Closed::none) {
        application_->on_closed(*this, reason);
    }
}

void SessionHost::on_connection_timer(core::Moment now) {
    if (session_.next_deadline_ns() <= now.monotonic_ns) {
        // A Logon cannot come before the handshake is complete.
        if (session_.state() == fix::Session::State::awaiting_logon && connection_->transport().failed_to_begin()) {
            cut(Closed::tls_failed);
        } else {
            session_.on_timer(now);
        }
    }
    if (output_.stalled_at_ns() <= now.monotonic_ns) {
        gauges_.slow_consumers.add();
        connection_.set_broken();
        cut(Closed::slow_consumer);
    }
    input_.end_pause(now);
}

std::int64_t SessionHost::on_timer(core::Moment now) {
    act(now, [&] {
        if (connection_.exists()) on_connection_timer(now);
        if (senders_.next_deadline_ns() <= now.monotonic_ns) pump(now);
        farewell_.run(now);
        if (warm_ups_.is_due(now)) warm_up(now);
        if (file_ != nullptr) file_->trim();
    });
    return next_deadline_ns();
}

void SessionHost::warm_up(core::Moment now) noexcept {
    const auto& counters = session_.counters();
    const bool idle = warm_ups_.begin_period(counters.received.read() + counters.sent.read(), now);
    if (!idle || !session_.takes_messages()) return;
    if (io_->may_warm_up(now)) {
        session_.warm_up(now);
        io_->warm_up_socket(now);
        signal();  // warms the path of a producer's message too
    } else {
        warm_ups_.try_again_soon(now);
    }
}

std::int64_t SessionHost::next_deadline_ns() const noexcept {
    auto next = std::min(senders_.next_deadline_ns(), farewell_.next_deadline_ns());
    if (connection_.exists()) {
        if (const auto delayed = standby_.delayed_until_ns(); delayed != 0) {
            next = std::min(next, delayed);
        } else if (connection_.is_ending()) {
            next = 0;
        }
        next = std::min({next, session_.next_deadline_ns(), output_.stalled_at_ns(), input_.next_deadline_ns()});
    }
    if (warm_ups_.wanted() && session_.takes_messages()) next = std::min(next, warm_ups_.next_ns());
    if (drained_by_ns_ && !drained()) next = std::min(next, *drained_by_ns_);
    return next;
}

}  // namespace millpond::engine
