#include <millpond/fix/session.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace millpond::fix {
namespace {

constexpr std::string_view kNotEncrypted = "0";

/// "<before><first><between><second>" in `room`.
std::string_view words(std::span<char> room, std::string_view before, std::uint64_t first, std::string_view between,
                       std::uint64_t second) noexcept {
    auto* at = room.data();
    auto* end = room.data() + room.size();
    std::memcpy(at, before.data(), before.size());
    at = std::to_chars(at + before.size(), end, first).ptr;
    std::memcpy(at, between.data(), between.size());
    at = std::to_chars(at + between.size(), end, second).ptr;
    return {room.data(), static_cast<std::size_t>(at - room.data())};
}

}  // namespace

void Session::on_frame(const Frame& frame, core::Moment now) {
    const auto message = parser_.parse(frame, spill_);
    if (!message) {
        tallies_.garbled.add();
        if (state_ == State::awaiting_logon) disconnect(Disconnect::logon_refused);
        return;
    }
    tallies_.received.add();
    last_received_ns_ = now.monotonic_ns;
    test_request_sent_ = false;
    const auto expected = store_->next_target();
    on_message(*message, now);
    if (!closing_) process_held(now);
    if (store_->next_target() != expected) progress_ns_ = now.monotonic_ns;
}

void Session::on_message(const Message& message, core::Moment now) {
    if (state_ == State::awaiting_logon) {
        on_message_before_logon(message, now);
        return;
    }
    if (message.begin_string() != begin_string(config_.version)) {
        send_logout("Incorrect BeginString", now);
        return;
    }
    const auto sequence = message.unsigned_integer(tag::kMsgSeqNum);
    if (!sequence) {
        // Without a number nothing can be rejected or asked for again.
        send_logout("MsgSeqNum is missing", now);
        return;
    }
    on_numbered({message, *sequence, now});
}

bool Session::is_right_peer(const Message& message) const noexcept {
    return message.text(tag::kSenderCompId) == config_.target_comp_id &&
           message.text(tag::kTargetCompId) == config_.sender_comp_id;
}

bool Session::is_timely(const Message& message, core::Moment now) const noexcept {
    if (config_.max_latency_ns == 0) return true;
    const auto sent = message.utc_timestamp_ns(tag::kSendingTime);
    return sent && std::abs(*sent - now.utc_ns) <= config_.max_latency_ns;
}

void Session::on_message_before_logon(const Message& message, core::Moment now) {
    const auto sequence = message.unsigned_integer(tag::kMsgSeqNum);
    const bool may_enter = message.begin_string() == begin_string(config_.version) && sequence &&
                           is_right_peer(message) && is_timely(message, now);
    if (may_enter && message.msg_type() == "5" && config_.role == Role::initiator) {
        // The acceptor says why it does not let us in.
        handler_->on_reject(message);
        disconnect(Disconnect::logon_refused);
        return;
    }
    if (!may_enter || message.msg_type() != "A" || validator_.check(message) || !handler_->may_log_on(message)) {
        disconnect(Disconnect::logon_refused);
        return;
    }
    on_first_logon({message, *sequence, now});
}

void Session::on_first_logon(const Inbound& in) {
    const bool acceptor = config_.role == Role::acceptor;
    const bool resets = in.message.boolean(tag::kResetSeqNumFlag).value_or(false);
    const auto interval = in.message.integer(tag::kHeartBtInt);
    if (in.message.text(tag::kEncryptMethod) != kNotEncrypted || interval.value_or(-1) < 0 ||
        (resets && in.sequence != 1)) {
        disconnect(Disconnect::logon_refused);
        return;
    }
    if (acceptor) {
        heartbeat_ns_ = *interval * 1'000'000'000;
        if (resets || config_.reset_on_logon) store_->reset(in.now.utc_ns);
    } else if (resets) {
        store_->set_next_target(1);
    }
    const auto expected = store_->next_target();
    if (in.sequence < expected && !in.message.boolean(tag::kPossDupFlag).value_or(false)) {
        on_too_low(in);
        return;
    }
    const auto next_expected = in.message.unsigned_integer(tag::kNextExpectedMsgSeqNum);
    const auto ours = store_->next_sender();
    if (next_expected && *next_expected > ours) {
        std::array<char, 128> room;
        send_logout(
            words(room, "NextExpectedMsgSeqNum too high, expected at most ", ours, " but received ", *next_expected),
            in.now);
        disconnect(Disconnect::logon_refused);
        return;
    }
    // In front of the answer, which already carries what we expect next.
    if (in.sequence == expected) take_number(in.sequence);
    if (acceptor) send_logon(in.now, resets);
    state_ = State::active;
    application_is_on_ = true;
    handler_->on_logon();
    if (next_expected && *next_expected < ours) begin_resend(*next_expected, ours - 1, in.now);
    if (in.sequence > expected) {
        highest_seen_ = in.sequence;
        if (config_.send_next_expected) {
            // With 789 the peer knows from our Logon what is missing in front of its own, which it does not fill.
            early_logon_ = in.sequence;
            requested_to_ = in.sequence - 1;
            progress_ns_ = in.now.monotonic_ns;
        } else {
            request_missing(in.sequence, in.now);
        }
    }
}

/// A Logon of a session that is logged on: only one that begins both numbers anew makes sense.
void Session::on_logon_again(const Inbound& in) {
    if (in.message.boolean(tag::kResetSeqNumFlag).value_or(false) && in.sequence == 1) {
        store_->reset(in.now.utc_ns);
        held_.clear();
        requested_to_ = 0;
        highest_seen_ = 0;
        early_logon_ = 0;
        resend_ = {};
        store_->set_next_target(2);
        send_logon(in.now, true);
        return;
    }
    if (in.sequence == store_->next_target()) take_number(in.sequence);
    send_reject(in, RejectReason::other);
}

/// Whether sender, target and time are right; else both a Reject and a Logout went out.
bool Session::passes_identity(const Inbound& in) {
    auto reason = RejectReason::comp_id_problem;
    if (is_right_peer(in.message)) {
        if (is_timely(in.message, in.now)) return true;
        reason = RejectReason::sending_time_accuracy;
    }
    if (in.sequence == store_->next_target()) take_number(in.sequence);
    send_reject(in, reason);
    send_logout({}, in.now);
    return false;
}

void Session::on_numbered(const Inbound& in) {
    const auto type = in.message.msg_type();
    const auto expected = store_->next_target();
    const bool resets = type == "4" && !in.message.boolean(tag::kGapFillFlag).value_or(false);
    const bool any_number = resets || type == "2" || type == "5" ||
                            (type == "A" && in.message.boolean(tag::kResetSeqNumFlag).value_or(false));
    // What waits for its turn is looked at when it is its turn.
    if (in.sequence == expected || any_number) {
        if (const auto rejection = validator_.check(in.message)) {
            if (in.sequence == expected) take_number(in.sequence);
            send_reject(in, *rejection);
            return;
        }
    }
    const bool has_identity =
        in.message.has(tag::kSenderCompId) && in.message.has(tag::kTargetCompId) && in.message.has(tag::kSendingTime);
    if (has_identity && !passes_identity(in)) return;
    if (in.sequence == expected || any_number) {
        on_in_turn(in);
    } else if (in.sequence > expected) {
        on_too_high(in);
    } else {
        on_too_low(in);
    }
}

void Session::on_too_high(const Inbound& in) {
    highest_seen_ = std::max(highest_seen_, in.sequence);
    if (held_.hold(in.sequence, in.message.bytes())) {
        tallies_.held.add();
    } else {
        tallies_.held_dropped.add();
    }
    if (requested_to_ == 0) request_missing(in.sequence, in.now);
}

void Session::on_too_low(const Inbound& in) {
    const auto expected = store_->next_target();
    if (!in.message.boolean(tag::kPossDupFlag).value_or(false)) {
        std::array<char, 96> room;
        send_logout(words(room, "MsgSeqNum too low, expecting ", expected, " but received ", in.sequence), in.now);
        disconnect(Disconnect::sequence_too_low);
        return;
    }
    if (in.message.msg_type() != "4") {
        const auto original = in.message.utc_timestamp_ns(tag::kOrigSendingTime);
        if (!original) {
            send_reject(in, Rejection{RejectReason::required_tag_missing, "122"});
            return;
        }
        if (original > in.message.utc_timestamp_ns(tag::kSendingTime)) {
            send_reject(in, RejectReason::sending_time_accuracy);
            send_logout({}, in.now);
            return;
        }
    }
    tallies_.duplicates.add();
}

void Session::on_in_turn(const Inbound& in) {
    const auto type = in.message.msg_type();
    const auto kind = type.size() == 1 ? type.front() : '\0';
    switch (kind) {
        case '2': on_resend_request(in); return;
        case '4': on_sequence_reset(in); return;
        case '5': on_logout_message(in); return;
        case 'A': on_logon_again(in); return;
        case '0': take_number(in.sequence); return;
        case '1':
            take_number(in.sequence);
            send_heartbeat(in.message.text(tag::kTestReqId).value_or(""), in.now);
            return;
        case '3':
            take_number(in.sequence);
            handler_->on_reject(in.message);
            return;
        default: on_application(in); return;
    }
}

void Session::on_application(const Inbound& in) {
    const auto verdict = handler_->on_message(in.message);
    take_number(in.sequence);
    if (verdict != Verdict::accepted) send_business_reject(in, verdict);
}

void Session::on_resend_request(const Inbound& in) {
    if (in.sequence == store_->next_target()) take_number(in.sequence);
    const auto newest = store_->next_sender() - 1;
    const auto first = in.message.unsigned_integer(tag::kBeginSeqNo).value_or(0);
    auto last = in.message.unsigned_integer(tag::kEndSeqNo).value_or(0);
    if (first == 0) {
        send_reject(in, Rejection{RejectReason::value_incorrect, "7"});
        return;
    }
    // 0 asks for all, as 999999 did up to FIX 4.1.
    if (last == 0 || last > newest) last = newest;
    if (first <= last) begin_resend(first, last, in.now);
    // Our own gap is asked for after the peer got what it asked for. Its request is answered; only its number waits.
    if (in.sequence > store_->next_target()) on_too_high(in);
}

void Session::on_sequence_reset(const Inbound& in) {
    const auto expected = store_->next_target();
    const auto next = in.message.unsigned_integer(tag::kNewSeqNo).value_or(0);
    if (next < expected) {
        send_reject(in, RejectReason::value_incorrect);
        return;
    }
    store_->set_next_target(next);
    held_.forget_below(next);
}

void Session::on_logout_message(const Inbound& in) {
    if (in.sequence == store_->next_target()) take_number(in.sequence);
    const auto reason = in.message.text(tag::kText).value_or("");
    send_logout({}, in.now);  // unless this one answers ours
    tell_logout(reason);
    if (config_.reset_on_logout) store_->reset(in.now.utc_ns);
    disconnect(Disconnect::logged_out);
}

void Session::take_number(std::uint64_t sequence) noexcept { store_->set_next_target(sequence + 1); }

void Session::process_held(core::Moment now) {
    while (!closing_ && state_ != State::awaiting_logon) {
        if (store_->next_target() == early_logon_) take_number(early_logon_);
        const auto bytes = held_.take(store_->next_target());
        if (!bytes) break;
        const auto frame = next_frame(std::as_bytes(std::span{bytes->data(), bytes->size()}), bytes->size());
        const auto message = frame ? parser_.parse(*frame, spill_) : std::unexpected(FrameError::incomplete);
        if (!message) break;  // it was parsed before it was held
        if (message->msg_type() == "2") {
            take_number(store_->next_target());  // it was answered when it came
        } else {
            on_message(*message, now);
        }
    }
    if (closing_ || requested_to_ == 0 || store_->next_target() <= requested_to_) return;
    // All that was asked for has come. Is there another gap, or the next part of this one?
    requested_to_ = 0;
    if (store_->next_target() <= highest_seen_) request_missing(highest_seen_ + 1, now);
}

/// Asks for what is missing before `first_held`.
void Session::request_missing(std::uint64_t first_held, core::Moment now) {
    const auto first = store_->next_target();
    auto last = first_held - 1;
    bool all = true;
    if (config_.resend_request_chunk != 0 && last - first >= config_.resend_request_chunk) {
        last = first + config_.resend_request_chunk - 1;
        all = false;
    }
    requested_to_ = last;
    progress_ns_ = now.monotonic_ns;
    const std::uint64_t infinity = config_.version <= Version::fix41 ? 999'999 : 0;
    tallies_.requests.add();
    write_admin("2", now, [&](Writer& writer) {
        writer.add<tag::kBeginSeqNo>(first).add<tag::kEndSeqNo>(all ? infinity : last);
    });
}

}  // namespace millpond::fix
