#include <millpond/engine/detail/sender.hpp>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace millpond::engine::detail {

Sender::Sender(SessionHandle& session, const SenderOptions& options)
    : session_(&session), port_(&session.sender_port()), options_(options), in_flight_(options.max_in_flight) {
    if (!std::has_single_bit(options.max_in_flight)) {
        throw std::invalid_argument("a sender's max_in_flight of " + std::to_string(options.max_in_flight) +
                                    " is not a power of two");
    }
}

bool Sender::pump(SenderHost& host, core::Moment now, std::size_t max_messages) {
    // A producer on the same thread sends as many messages as one read brings.
    constexpr std::size_t kMaxWhileFilling = 4096;
    for (std::size_t i = 0; i < max_messages || (i < kMaxWhileFilling && is_filling()); ++i) {
        if (!staged_full_) {
            if (!pop(staged_)) return false;
            staged_full_ = true;
            attempts_ = 0;
            // From here on a step of the system clock has no effect.
            staged_deadline_ns_ =
                staged_.deadline_utc_ns == 0 ? core::kNever : now.monotonic_ns + (staged_.deadline_utc_ns - now.utc_ns);
            counters_.popped.add();
            latencies_.acquire.record(rate_.nanos(staged_.acquire_ticks));
            latencies_.queue.record(rate_.nanos(core::ticks() - staged_.handed_ticks));
        }
        if (send_staged(host, now) == Step::wait) return false;
    }
    return true;
}

Sender::Step Sender::send_staged(SenderHost& host, core::Moment now) {
    if (now.monotonic_ns >= staged_deadline_ns_) {
        fail_staged(SendFailure::expired);
        return Step::done;
    }
    auto& session = host.session();
    if (!session.accepts_messages()) {
        if (options_.while_down == WhileDown::keep) return keep_staged(host);
        // Another connection may follow if this one is about to end.
        const bool is_ending = session.state() == fix::Session::State::active;
        if (is_ending || options_.while_down == WhileDown::hold) return Step::wait;
        fail_staged(SendFailure::not_logged_on);
        return Step::done;
    }
    const bool waits = host.congested() && !(options_.while_down == WhileDown::keep && is_filling());
    if (waits || last_ - first_ == in_flight_.size()) return busy();
    const auto refused_before = session.store().counters().refused.read();
    const auto sequence = session.store().next_sender();
    const auto begin = core::ticks();
    // Before the send, which may report that all bytes were written.
    in_flight_[last_ & (in_flight_.size() - 1)] = {staged_.token, sequence, begin,
                                                   session.store().counters().resets.read()};
    ++last_;
    if (!send(session, staged_, host.stamp())) {
        --last_;
        if (!session.accepts_messages()) return Step::wait;
        if (session.store().counters().refused.read() != refused_before) return busy();
        fail_staged(SendFailure::not_encoded);
        return Step::done;
    }
    const auto end = core::ticks();
    latencies_.encode.record(rate_.nanos(end - begin));
    counters_.sent.add();
    counters_.in_flight.set(last_ - first_);
    in_flight_[(last_ - 1) & (in_flight_.size() - 1)].encoded_ticks = end;
    release_staged();
    return Step::done;
}

/// Stores the staged message with a number while the session is not logged on.
Sender::Step Sender::keep_staged(SenderHost& host) {
    auto& session = host.session();
    const auto now = host.stamp();
    // A session that is logging on or out will soon be logged on or disconnected.
    const bool is_between = session.state() != fix::Session::State::disconnected;
    if (!session.may_keep(now) || (is_between && !is_filling())) return Step::wait;
    const auto refused_before = session.store().counters().refused.read();
    const auto sequence = session.store().next_sender();
    if (!keep(session, staged_, now)) {
        if (session.store().counters().refused.read() != refused_before) return busy();
        fail_staged(SendFailure::not_encoded);
        return Step::done;
    }
    counters_.kept.add();
    report_sent({.token = staged_.token, .sequence = sequence, .written = false});
    release_staged();
    return Step::done;
}

void Sender::release_staged() noexcept {
    release(staged_);
    staged_full_ = false;
}

/// Counts an attempt while the connection is busy. A message with too many attempts fails.
Sender::Step Sender::busy() noexcept {
    counters_.retried.add();
    if (options_.max_attempts == 0 || ++attempts_ < options_.max_attempts) return Step::wait;
    fail_staged(SendFailure::too_busy);
    return Step::done;
}

core::Tally& Sender::tally_of(SendFailure failure) noexcept {
    switch (failure) {
        case SendFailure::expired: return counters_.expired;
        case SendFailure::not_logged_on: return counters_.not_logged_on;
        case SendFailure::too_busy: return counters_.too_busy;
        case SendFailure::not_encoded: return counters_.not_encoded;
        case SendFailure::shut_down: break;
    }
    return counters_.shut_down;
}

void Sender::fail_staged(SendFailure failure) noexcept {
    tally_of(failure).add();
    report_failed(staged_, failure);
    release_staged();
}

void Sender::fail_all(SendFailure failure) noexcept {
    if (outlives_the_session()) {
        staged_full_ = false;
        is_given_up_ = true;
        return;
    }
    if (staged_full_) fail_staged(failure);
    while (pop(staged_)) {
        counters_.popped.add();
        staged_full_ = true;
        fail_staged(failure);
    }
}

void Sender::settle(bool written) noexcept {
    const auto& entry = in_flight_[first_++ & (in_flight_.size() - 1)];
    counters_.in_flight.set(last_ - first_);
    (written ? counters_.written : counters_.not_written).add();
    report_sent({.token = entry.token, .sequence = entry.sequence, .written = written});
}

bool Sender::on_written(std::uint64_t sequence, std::uint64_t resets) noexcept {
    if (first_ == last_) return false;
    const bool was_full = last_ - first_ == in_flight_.size();
    const auto now = core::ticks();
    while (first_ != last_) {
        const auto& entry = in_flight_[first_ & (in_flight_.size() - 1)];
        if (entry.sequence > sequence && entry.resets == resets) break;
        latencies_.write.record(rate_.nanos(now - entry.encoded_ticks));
        settle(true);
    }
    return was_full && staged_full_ && last_ - first_ < in_flight_.size();
}

void Sender::on_disconnect() noexcept {
    while (first_ != last_) settle(false);
}

std::vector<metrics::Registration> Sender::add_metrics(metrics::Registry& registry,
                                                       const std::string& sender_name) const {
    std::vector<metrics::Registration> list;
    const metrics::Labels labels{{"session", session_->name()}, {"sender", sender_name}};
    const auto with = [&](const char* key, const char* value) {
        auto more = labels;
        more.emplace_back(key, value);
        return more;
    };
    const auto counter = [&](const char* name, const char* help, const core::Tally& tally) {
        list.push_back(registry.add_counter({name, help, labels}, tally));
    };
    counter("millpond_fix_sender_sent_total", "Messages that were assigned a sequence number.", counters_.sent);
    counter("millpond_fix_sender_kept_total", "Messages that were stored while the session was not logged on.",
            counters_.kept);
    counter("millpond_fix_sender_written_total", "Messages written to the socket.", counters_.written);
    counter("millpond_fix_sender_not_written_total",
            "Messages whose connection ended before they were written to the socket.", counters_.not_written);
    counter("millpond_fix_sender_retried_total", "Attempts to send a message while the connection was busy.",
            counters_.retried);
    list.push_back(registry.add_counter(
        {"millpond_fix_sender_refused_total", "Messages refused: the lane was full or the sender closed.", labels},
        [this] { return static_cast<double>(refused()); }));
    const auto dropped = [&](SendFailure why, const core::Tally& tally) {
        std::string reason{engine::name(why)};
        std::ranges::replace(reason, ' ', '_');
        list.push_back(registry.add_counter(
            {"millpond_fix_sender_dropped_total", "Messages that were not sent.", with("reason", reason.c_str())},
            tally));
    };
    dropped(SendFailure::expired, counters_.expired);
    dropped(SendFailure::not_logged_on, counters_.not_logged_on);
    dropped(SendFailure::too_busy, counters_.too_busy);
    dropped(SendFailure::not_encoded, counters_.not_encoded);
    dropped(SendFailure::shut_down, counters_.shut_down);
    list.push_back(registry.add_gauge({"millpond_fix_sender_depth", "Messages waiting in the lanes.", labels},
                                      [this] { return static_cast<double>(depth()); }));
    list.push_back(
        registry.add_gauge({"millpond_fix_sender_in_flight",
                            "Messages with a sequence number that are not yet written to the socket.", labels},
                           counters_.in_flight));
    const auto latency = [&](const char* stage, const metrics::LatencyHistogram& histogram) {
        list.push_back(registry.add_latency(
            {"millpond_fix_sender_stage_seconds", "Latency of a message by stage.", with("stage", stage)}, histogram));
    };
    latency("acquire", latencies_.acquire);
    latency("queue", latencies_.queue);
    latency("encode", latencies_.encode);
    latency("write", latencies_.write);
    return list;
}

}  // namespace millpond::engine::detail
