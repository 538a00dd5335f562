#include "session_host.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/fix/frame.hpp>

#include "session_action.hpp"
#include "store_opening.hpp"

namespace millpond::engine {
namespace {

constexpr std::size_t kInputBytes = std::size_t{128} * 1024;
constexpr std::size_t kMessagesBuffered = 4;  // of the longest, where that is more
constexpr std::size_t kOutputPieces = 8192;
constexpr std::size_t kWriteAtOnce = 16;    // messages that wait for the end of an action at most
constexpr std::size_t kMessagesATurn = 64;  // of a sender, before others get theirs
constexpr std::size_t kReadsATurn = 4;      // buffers, before others get theirs
constexpr std::size_t kLeavingAtMost = 4;

/// Bytes at the front of the stream that a session is done with when it has read them.
std::size_t whole_messages(std::span<const std::byte> bytes, std::size_t longest) noexcept {
    std::size_t whole = 0;
    for (;;) {
        const auto frame = fix::next_frame(bytes.subspan(whole), longest);
        if (!frame && frame.error().error == fix::FrameError::incomplete) return whole;
        whole += frame ? frame->bytes.size() : frame.error().skip;
    }
}

SessionOptions checked(SessionOptions options) {
    if (options.dictionary == nullptr) throw std::invalid_argument("a session needs a dictionary");
    return options;
}

}  // namespace

SessionHost::SessionHost(SessionOptions options, Application& application, IoThread& io)
    : io_(&io),
      application_(&application),
      limits_(options.limits),
      allowed_(options.allowed),
      signer_(options.signer),
      name_(identity_of(checked(options).config).name()),
      store_(open_store(options, core::utc_nanos())),
      file_(options.store.file.empty() ? nullptr : static_cast<fix::FileStore*>(store_.get())),
      session_(options.config, *options.dictionary, options.application, *store_, *this, core::MomentClock{}.now()),
      input_(std::max(kInputBytes, kMessagesBuffered * options.config.max_message_bytes)),
      output_(kOutputPieces, std::max(limits_.pending_bytes, kMessagesBuffered * options.config.max_message_bytes)),
      farewell_(io, kLeavingAtMost),
      rate_(limits_.messages_per_second, limits_.burst) {}

void SessionHost::begin(HostObserver* observer) {
    observer_ = observer;
    slot_ = io_->join(*this);
    show_store();
}

void SessionHost::show_store() noexcept {
    next_sender_.set(store_->next_sender());
    next_target_.set(store_->next_target());
    capacity_bytes_.set(store_->capacity_bytes());
}

void SessionHost::end() {
    observer_ = nullptr;
    // The engine is being destroyed: what the application's callbacks throw has nowhere to go.
    const auto quietly = [](const auto& call) {
        try {
            call();
        } catch (...) {  // NOLINT(bugprone-empty-catch)
        }
    };
    if (connection_ != nullptr) {
        cut(Closed::shut_down);
        quietly([&] { let_go(io_->now()); });
    }
    farewell_.clear();
    io_->leave(slot_);
    quietly([&] { tell_closed(); });
}

core::Moment SessionHost::now() const noexcept {
    if (!acting_) stamp_ = io_->now();
    return stamp_;
}

bool SessionHost::may_be_connected(core::Moment now) const noexcept {
    const auto& schedule = config().schedule;
    return enabled_ && (!draining_ || !senders_idle()) && (!schedule || schedule->is_open(now.utc_ns));
}

bool SessionHost::schedule_is_over(std::int64_t utc_ns) const noexcept {
    const auto& schedule = config().schedule;
    return schedule && !schedule->same_session(store_->creation_utc_ns(), utc_ns);
}

bool SessionHost::claim_after_reading(core::Moment now) {
    if (claim()) return true;
    // The last bytes first, then the end behind them.
    for (std::size_t turn = 0; turn < kReadsATurn && connection_ != nullptr; ++turn) on_ready(*connection_, now);
    return claim();
}

void SessionHost::connect(std::unique_ptr<Connection> connection, const InputBuffer& read, core::Moment now) {
    connection_ = std::move(connection);
    peer_ = connection_->peer();
    {
        const std::lock_guard guard{peer_lock_};
        peer_text_ = peer_.to_string();
    }
    over_ = !input_.take_over(read);
    output_.clear();
    closing_ = Closed::none;
    paused_ = was_congested_ = refused_ = false;
    moved_ns_ = 0;
    rate_.begin(now.monotonic_ns);
    connections_.add();
    connected_ns_.set(static_cast<std::uint64_t>(now.utc_ns));
    last_closed_.store(Closed::none, std::memory_order_relaxed);
    act(now, [&] {
        connection_->watch(*io_, *this);
        session_.on_connect(now);
        take_input(now);
    });
}

void SessionHost::on_ready(Connection& connection, core::Moment now) {
    if (&connection != connection_.get()) return;
    act(now, [&] {
        if (!output_.empty() || connection.transport().wants_writable()) {
            flush();
            if (!congested()) pump(now);
        }
        if (!paused_) read(now);
    });
}

void SessionHost::read(core::Moment now) {
    for (std::size_t turn = 0; turn < kReadsATurn && closing_ == Closed::none && !over_ && !paused_; ++turn) {
        if (!connection_->receive(input_)) over_ = true;
        take_input(now);
        if (!connection_->transport().holds_input()) return;
    }
    if (!over_) signal();  // the socket does not tell of what the transport holds
}

void SessionHost::take_input(core::Moment now) {
    const auto bytes = input_.filled();
    if (bytes.empty()) return;
    const auto messages = session_.tallies().received.read();
    const auto tap = [&](std::size_t begin, std::size_t end) {
        if (begin == end) return;
        tap_->on_bytes(name_, Direction::in, {reinterpret_cast<const char*>(bytes.data()) + begin, end - begin},
                       now.utc_ns);
    };
    // In front of what they bring about.
    const auto whole = tap_ != nullptr ? whole_messages(bytes, config().max_message_bytes) : 0;
    if (tap_ != nullptr) tap(0, whole);
    const auto done = session_.on_bytes(bytes, now);
    if (tap_ != nullptr) tap(whole, std::max(whole, done));
    input_.consume(done);
    const auto came = session_.tallies().received.read() - messages;
    if (came != 0) last_received_ns_.set(static_cast<std::uint64_t>(now.utc_ns));
    if (rate_.take(came, now.monotonic_ns)) return;
    if (limits_.cut_off_when_exceeded) {
        cut(Closed::too_many_messages);
        return;
    }
    paused_ = true;
    paused_times_.add();
    connection_->watch_readable(false);
}

void SessionHost::cut(Closed reason) noexcept {
    if (closing_ == Closed::none) closing_ = reason;
    if (!acting_ && connection_ != nullptr) io_->wants_timer(slot_, 0);  // noticed in the next round
}

bool SessionHost::congested() const {
    return output_.bytes() > limits_.pending_bytes / 2 || output_.pieces() > output_.most_pieces() / 2 ||
           output_.copies_are_half_full() || over_;
}

void SessionHost::send(std::uint64_t sequence, std::string_view bytes) {
    if (connection_ == nullptr || over_) return;
    const auto now = stamp_;
    last_sent_ns_.set(static_cast<std::uint64_t>(now.utc_ns));
    if (tap_ != nullptr) tap_->on_bytes(name_, Direction::out, bytes, now.utc_ns);
    if (sequence != 0) make_durable();
    const auto resets = store_->tallies().resets.read();
    if (resets != resets_seen_) {
        // What waits lay in a store that was reset and may overwrite it.
        resets_seen_ = resets;
        if (!output_.empty()) {
            const auto left = output_.copy();
            output_.clear();
            if (!output_.add_copy({left.data(), left.size()})) cut(Closed::slow_consumer);
        }
    }
    const bool added = sequence != 0 ? output_.add_stored(sequence, bytes) : output_.add_copy(bytes);
    if (moved_ns_ == 0) moved_ns_ = now.monotonic_ns;
    if (!acting_ || output_.pieces() >= kWriteAtOnce || output_.bytes() > limits_.pending_bytes) {
        flush();
        stamp_ = io_->now();
    }
    if (!added || output_.bytes() > limits_.pending_bytes) {
        slow_consumers_.add();
        cut(Closed::slow_consumer);
        over_ = true;
    }
}

void SessionHost::make_durable() {
    if (file_ == nullptr || file_->durability() != fix::Durability::message) return;
    if (file_->sync_newest()) cut(Closed::store_failed);
}

void SessionHost::flush() {
    if (flushing_ || connection_ == nullptr || over_) return;
    flushing_ = true;
    bool blocked = false;
    do {
        std::uint64_t last = 0;
        const auto before = output_.bytes();
        if (!connection_->send(output_, [&](std::uint64_t sequence) { last = sequence; })) over_ = true;
        blocked = !output_.empty();
        if (!blocked) {
            moved_ns_ = 0;
        } else if (output_.bytes() != before) {
            moved_ns_ = stamp_.monotonic_ns;
        }
        if (last == 0) break;
        store_->mark_written(last);
        for (auto* sender : senders_) sender->on_written(last);
    } while (!blocked && !over_ && !output_.empty());  // the called object may have sent more
    flushing_ = false;
}

bool SessionHost::may_log_on(const fix::Message& logon) {
    if (config().role == fix::Role::initiator || allowed_.contains(peer_))
        return application_->may_log_on(*this, logon);
    refuse(RefusalReason::not_allowed, fix::tag::kInvalid, "not an address of this session");
    return false;
}

void SessionHost::on_send_admin(fix::AdminDraft& draft) {
    application_->on_send_admin(*this, draft);
    if (signer_ != nullptr && draft.is_logon() && config().role == fix::Role::initiator) {
        signer_->sign(draft, stamp_.utc_ns);
    }
}

void SessionHost::on_logon() {
    logons_.add();
    if (observer_ != nullptr) observer_->on_host_logon();
    application_->on_logon(*this);
    if (!senders_.empty()) signal();
}

void SessionHost::pump(core::Moment now) {
    bool more = false;
    for (std::size_t i = 0; i < senders_.size(); ++i) {
        more = senders_[i]->pump(*this, now, kMessagesATurn) || more;
        // What a sender waits for may be out already.
        if (!output_.empty()) flush();
    }
    if (more) signal();
}

void SessionHost::on_signal(core::Moment now) {
    act(now, [&] {
        if (connection_ != nullptr && !paused_ && connection_->transport().holds_input()) read(now);
        pump(now);
    });
}

void SessionHost::finish_action(core::Moment now) {
    flush();
    if (connection_ != nullptr && closing_ == Closed::none && !over_ && was_congested_ && !congested()) {
        was_congested_ = false;
        session_.on_writable(now);
        pump(now);
        flush();
    }
    was_congested_ = was_congested_ || congested();
    if (connection_ != nullptr && (over_ || closing_ != Closed::none)) let_go(now);
    if (draining_) continue_drain(now);
    state_.store(session_.state(), std::memory_order_relaxed);
    pending_bytes_.set(output_.bytes());
    show_store();
    io_->wants_timer(slot_, next_deadline_ns());
}

/// A callback threw in the middle of an action. What the session has taken and what not is not known.
void SessionHost::abandon_action() noexcept {
    acting_ = false;
    flushing_ = false;
    if (connection_ != nullptr) cut(Closed::application_error);
    io_->wants_timer(slot_, 0);  // what is left to do is done in the next round
}

void SessionHost::on_logon_refused(const fix::LogonRefusal& why) {
    refuse(RefusalReason::invalid_logon, why.tag, why.reason);
}

void SessionHost::report_unreachable(const net::SocketAddress& address, std::string_view why) {
    last_closed_.store(Closed::connect_failed, std::memory_order_relaxed);
    application_->on_refused(*this, {.reason = RefusalReason::unreachable, .peer = address, .detail = why});
}

void SessionHost::refuse(RefusalReason reason, fix::Tag tag, std::string_view detail) {
    if (std::exchange(refused_, true)) return;
    application_->on_refused(*this, {.reason = reason, .peer = peer_, .tag = tag, .detail = detail});
}

/// Why the connection ends.
Closed SessionHost::end_reason() const noexcept {
    if (closing_ != Closed::none) return closing_;
    if (connection_->transport().failed_to_begin()) return Closed::tls_failed;
    const auto ending = session_.ending();
    return ending ? closed_by(*ending) : Closed::by_peer;
}

void SessionHost::let_go(core::Moment now) {
    const auto reason = end_reason();
    if (reason == Closed::tls_failed) {
        refuse(RefusalReason::tls, fix::tag::kInvalid, connection_->transport().failure());
    } else if (reason == Closed::by_peer && session_.state() == fix::Session::State::awaiting_logon) {
        refuse(RefusalReason::closed_by_peer, fix::tag::kInvalid, connection_->transport().failure());
    }
    if (over_) {
        connection_->unwatch();
        io_->retire(std::move(connection_));
    } else {
        farewell_.add(std::move(connection_), output_, now);
    }
    connection_ = nullptr;
    output_.clear();
    input_.clear();
    moved_ns_ = 0;
    store_->mark_written(store_->next_sender() - 1);  // what was not written is asked for again
    for (auto* sender : senders_) sender->on_disconnect();
    {
        const std::lock_guard guard{peer_lock_};
        peer_text_.clear();
    }
    peer_ = {};
    closing_ = Closed::none;
    over_ = false;
    last_closed_.store(reason, std::memory_order_relaxed);
    told_ = reason;
    give_up_claim();
    if (observer_ != nullptr) observer_->on_host_closed(reason, now);
    session_.on_disconnect(now);  // last: it calls the application
}

/// Last of all, so that an exception finds everything done.
void SessionHost::tell_closed() {
    if (const auto reason = std::exchange(told_, Closed::none); reason != Closed::none) {
        application_->on_closed(*this, reason);
    }
}

void SessionHost::on_session_timer(core::Moment now) {
    // A Logon cannot come before the handshake is complete.
    if (session_.state() == fix::Session::State::awaiting_logon && connection_->transport().failed_to_begin()) {
        cut(Closed::tls_failed);
    } else {
        session_.on_timer(now);
    }
}

std::int64_t SessionHost::on_timer(core::Moment now) {
    act(now, [&] {
        if (connection_ != nullptr) {
            if (session_.next_deadline_ns() <= now.monotonic_ns) on_session_timer(now);
            if (moved_ns_ != 0 && now.monotonic_ns - moved_ns_ >= limits_.stalled.count()) {
                slow_consumers_.add();
                over_ = true;
                cut(Closed::slow_consumer);
            }
            if (paused_ && rate_.is_free(now.monotonic_ns)) {
                paused_ = false;
                connection_->watch_readable(true);
                take_input(now);
            }
        }
        for (const auto* sender : senders_) {
            if (sender->next_deadline_ns() <= now.monotonic_ns) {
                pump(now);
                break;
            }
        }
        farewell_.run(now);
    });
    return next_deadline_ns();
}

std::int64_t SessionHost::next_deadline_ns() const noexcept {
    auto next = detail::kNever;
    if (connection_ != nullptr) {
        next = session_.next_deadline_ns();
        if (moved_ns_ != 0) next = std::min(next, moved_ns_ + limits_.stalled.count());
        if (paused_) next = std::min(next, rate_.free_at_ns());
    }
    for (const auto* sender : senders_) next = std::min(next, sender->next_deadline_ns());
    next = std::min(next, farewell_.next_deadline_ns());
    if (draining_ && !drained()) next = std::min(next, drain_deadline_ns_);
    return next;
}

}  // namespace millpond::engine
