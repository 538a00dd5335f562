#include <millpond/fix/session.hpp>

#include <millpond/fix/wire_bounds.hpp>

#include "reason_text.hpp"
#include "sequence_of.hpp"

namespace millpond::fix {
namespace {

constexpr std::string_view kNotEncrypted = "0";
constexpr std::string_view kBadInterval = "HeartBtInt is not a number of seconds from 0 to 2147483647";
static_assert(kMaxHeartbeatSeconds == 2'147'483'647);

}  // namespace

void Session::on_message_before_logon(const Message& message, core::Moment now) {
    const auto type = message.msg_type();
    if (message.begin_string() != begin_string(config_.version)) {
        refuse_logon({tag::kBeginString, "BeginString is not the session's"});
        return;
    }
    if (const auto wrong = wrong_comp_id(message); wrong != tag::kInvalid) {
        refuse_logon({wrong, "CompID is not the session's"});
        return;
    }
    if (config_.role == Role::initiator && (type == "3" || type == "5")) {
        // The acceptor says why it does not let us in; a Logout follows its Reject.
        handler_->on_reject(message);
        if (type == "5") refuse_logon({.reason = message.text(tag::kText).value_or("Logout from the peer")});
        return;
    }
    if (type != "A") {
        constexpr std::string_view kNoLogon = "first message is not a Logon";
        if (config_.role == Role::initiator) send_logout(kNoLogon, now);
        refuse_logon({tag::kMsgType, kNoLogon});
        return;
    }
    // Before any reply: that uses up a number, which only a counterparty may cost us.
    if (!handler_->may_log_on(message)) {
        refuse_logon({.reason = "not authorized"});
        return;
    }
    const auto sequence = sequence_of(message);
    if (!sequence) {
        if (!config_.quickfix_replies) send_logout(kBadSequence, now);
        refuse_logon({tag::kMsgSeqNum, kBadSequence});
        return;
    }
    const Inbound in{message, *sequence, now};
    if (may_begin(in)) on_first_logon(in);
}

/// Whether a Logon of the right peer is as it should be; else it was refused.
bool Session::may_begin(const Inbound& in) {
    const auto& message = in.message;
    if (!is_timely(message, in.now)) {
        refuse_logon(in, {RejectReason::sending_time_accuracy, "52"});
        return false;
    }
    if (const auto rejection = validator_.check(message)) {
        refuse_logon(in, *rejection);
        return false;
    }
    if (message.text(tag::kEncryptMethod) != kNotEncrypted) {
        refuse_logon(in, {RejectReason::value_incorrect, "98"}, "EncryptMethod is not supported: only 0 is");
        return false;
    }
    const auto interval = message.integer(tag::kHeartBtInt).value_or(-1);
    if (interval < 0 || interval > kMaxHeartbeatSeconds) {
        refuse_logon(in, {RejectReason::value_incorrect, "108"}, kBadInterval);
        return false;
    }
    if (message.boolean(tag::kResetSeqNumFlag).value_or(false) && in.sequence != 1) {
        refuse_logon(in, {RejectReason::value_incorrect, "34"}, "MsgSeqNum of a Logon with ResetSeqNumFlag is not 1");
        return false;
    }
    if (config_.version == Version::fixt11 && message.text(tag::kDefaultApplVerId) != config_.default_appl_ver_id) {
        ReasonText text;
        text.add("DefaultApplVerID is not ").add(config_.default_appl_ver_id);
        refuse_logon(in, {RejectReason::value_incorrect, "1137"}, text.text());
        return false;
    }
    return true;
}

/// Without a reply.
void Session::refuse_logon(const LogonRefusal& why) {
    handler_->on_logon_refused(why);
    disconnect(Disconnect::logon_refused);
}

void Session::refuse_logon(const Inbound& in, const Rejection& rejection, std::string_view text) {
    const auto words = text.empty() ? fix::text(rejection.reason) : text;
    if (!config_.quickfix_replies) {
        send_reject(in, rejection, text);
        send_logout(words, in.now);
    }
    refuse_logon({static_cast<Tag>(parse_unsigned(rejection.tag_text).value_or(tag::kInvalid)), words});
}

void Session::on_first_logon(const Inbound& in) {
    const bool acceptor = config_.role == Role::acceptor;
    const bool resets = in.message.boolean(tag::kResetSeqNumFlag).value_or(false);
    if (acceptor) {
        heartbeat_ns_ = in.message.integer(tag::kHeartBtInt).value_or(0) * 1'000'000'000;
        if (resets || config_.reset_on_logon) store_->reset(in.now.utc_ns);
    } else if (resets && reset_sent_) {
        store_->set_next_target(1);
    } else if (resets) {
        // The acceptor begins both numbers again: our Logon counts as the first message.
        store_->reset(in.now.utc_ns);
        store_->set_next_sender(2);
    }
    const auto expected = store_->next_target();
    if (in.sequence < expected && !in.message.boolean(tag::kPossDupFlag).value_or(false)) {
        on_too_low(in);
        return;
    }
    const auto next_expected = in.message.unsigned_integer(tag::kNextExpectedMsgSeqNum);
    const auto ours = store_->next_sender();
    if (next_expected && (*next_expected == 0 || *next_expected > ours)) {
        ReasonText text;
        text.add("NextExpectedMsgSeqNum too ").add(*next_expected == 0 ? "low" : "high");
        text.add(", expected at most ").add(ours).add(" but received ").add(*next_expected);
        send_logout(text.text(), in.now);
        refuse_logon({tag::kNextExpectedMsgSeqNum, text.text()});
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

/// A Logon of a session that is logged on: only one that resets both numbers makes sense.
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
    send_full_reject(in, RejectReason::other, "35");
}

}  // namespace millpond::fix
