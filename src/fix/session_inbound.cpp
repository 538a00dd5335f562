#include <millpond/fix/session.hpp>

#include <algorithm>
#include <utility>

#include <millpond/fix/msg_type.hpp>
#include <millpond/fix/wire_bounds.hpp>

#include "reason_text.hpp"
#include "sequence_of.hpp"

namespace millpond::fix {
namespace {

std::string_view comp_id_text(Tag tag) noexcept { return tag == tag::kSenderCompId ? "49" : "56"; }

constexpr std::string_view kGarbled = "garbled: CheckSum or a field is wrong";
constexpr std::string_view kTooLong = "longer than max_message_bytes";
constexpr std::string_view kInvalidOfQuickFix = "Message failed basic validity check";

}  // namespace

void Session::on_frame(const Frame& frame, core::Moment now) {
    const auto message = parser_.parse(frame, spill_);
    if (!message) return on_garbled(frame, now);
    counters_.received.add();
    last_received_ns_ = now.monotonic_ns;
    test_request_sent_ = false;
    const auto expected = store_->next_target();
    on_parsed(*message, now, false);
    if (!closing_) process_held(now);
    if (store_->next_target() != expected) progress_ns_ = now.monotonic_ns;
}

void Session::on_bad_frame(std::string_view bytes, const BadFrame& bad, core::Moment now) {
    if (bad.error == FrameError::too_long) {
        on_too_long(bytes, bad.stated_bytes, now);
    } else if (bad.error != FrameError::not_a_message || !follows_too_long_) {
        counters_.garbled.add();
        if (state_ == State::awaiting_logon) refuse_logon({.reason = "garbled message"});
    }
}

/// Handles a message that is too long. The peer resends it with the missing messages. If the next message is too long
/// again, it is rejected, since it would be requested forever. Later ones are rejected in order, so that each is
/// requested once more.
void Session::on_too_long(std::string_view bytes, std::size_t stated_bytes, core::Moment now) {
    counters_.too_long.add();
    follows_too_long_ = true;
    ReasonText text;
    text.add("message of ").add(stated_bytes).add(" bytes is longer than the ").add(config_.max_message_bytes);
    text.add(" allowed");
    if (state_ == State::awaiting_logon) return refuse_logon({.reason = text.text()});
    const auto type = msg_type_of(bytes);
    const auto sequence = parse_unsigned(detail::value_behind(bytes, detail::kMsgSeqNumField)).value_or(0);
    const RejectedMessage why{.kind = RejectedMessage::Kind::too_long,
                              .reason = kTooLong,
                              .detail = text.text(),
                              .sequence = sequence,
                              .msg_type = type,
                              .bytes = stated_bytes};
    const bool is_next = sequence == store_->next_target();
    const bool is_again = is_next && std::exchange(too_long_, sequence) == sequence;
    if (!is_again || ending_ || type == "A" || type == "4") return handler_->on_rejected(why);
    last_received_ns_ = now.monotonic_ns;
    reject_unread(type, why, now);
}

/// Rejects the next message without parsing its fields, and counts it as received.
void Session::reject_unread(std::string_view msg_type, const RejectedMessage& why, core::Moment now) {
    consume_number(why.sequence);
    counters_.rejected.add();
    write_admin("3", now, [&](Writer& writer) {
        writer.add<tag::kRefSeqNum>(why.sequence).add<tag::kText>(why.detail);
        if (config_.version >= Version::fix42) writer.add<tag::kRefMsgType>(echoed(msg_type));
    });
    handler_->on_rejected(why);
    process_held(now);
}

void Session::on_garbled(const Frame& frame, core::Moment now) {
    counters_.garbled.add();
    if (state_ == State::awaiting_logon) return refuse_logon({.reason = "garbled message"});
    if (!config_.reject_garbled || ending_) return;
    const std::string_view text{reinterpret_cast<const char*>(frame.bytes.data()), frame.trailer_offset};
    const auto type = msg_type_of(text);
    const bool is_next =
        detail::value_behind(text, detail::kMsgSeqNumField) == ReasonText{}.add(store_->next_target()).text();
    if (!is_next || type == "A" || type == "4") return;
    last_received_ns_ = now.monotonic_ns;
    reject_unread(type,
                  {.reason = kGarbled,
                   .detail = config_.quickfix_replies ? kInvalidOfQuickFix : kGarbled,
                   .sequence = store_->next_target(),
                   .msg_type = type,
                   .bytes = frame.bytes.size()},
                  now);
}

void Session::on_parsed(const Message& message, core::Moment now, bool was_held) {
    if (state_ == State::awaiting_logon) {
        on_parsed_before_logon(message, now);
        return;
    }
    if (ending_ && message.msg_type() != "5") return;
    if (message.begin_string() != begin_string(config_.version)) {
        send_logout("Incorrect BeginString", now);
        return;
    }
    const auto sequence = sequence_of(message);
    if (!sequence) {
        // A message without a number cannot be rejected or requested again.
        send_logout(message.has(tag::kMsgSeqNum) ? kBadSequence : "MsgSeqNum is missing", now);
        return;
    }
    sort_by_number({message, *sequence, now, was_held});
}

/// Tag of the wrong CompID; kInvalid if both are right.
Tag Session::wrong_comp_id(const Message& message) const noexcept {
    if (message.text(tag::kSenderCompId) != config_.target_comp_id) return tag::kSenderCompId;
    if (message.text(tag::kTargetCompId) != config_.sender_comp_id) return tag::kTargetCompId;
    return tag::kInvalid;
}

bool Session::is_timely(const Message& message, core::Moment now) const noexcept {
    if (config_.max_latency_ns == 0) return true;
    const auto sent = message.utc_timestamp_ns(tag::kSendingTime);
    // Compared without subtraction: a difference of centuries overflows.
    return sent && *sent >= now.utc_ns - config_.max_latency_ns && *sent <= now.utc_ns + config_.max_latency_ns;
}

/// Whether sender, target and time are right; otherwise sends a Reject and a Logout.
bool Session::passes_identity(const Inbound& in) {
    auto reason = RejectReason::comp_id_problem;
    std::string_view tag_text;
    if (const auto wrong = config_.check_comp_ids ? wrong_comp_id(in.message) : tag::kInvalid; wrong != tag::kInvalid) {
        tag_text = comp_id_text(wrong);
    } else {
        if (is_timely(in.message, in.now)) return true;
        reason = RejectReason::sending_time_accuracy;
        tag_text = "52";
    }
    if (in.sequence == store_->next_target()) consume_number(in.sequence);
    send_full_reject(in, reason, tag_text);
    send_reply_logout(fix::text(reason), in.now);
    return false;
}

/// Whether a repeated message has a valid OrigSendingTime; otherwise rejects it.
bool Session::passes_poss_dup(const Inbound& in) {
    if (!in.message.boolean(tag::kPossDupFlag).value_or(false) || in.message.msg_type() == "4") return true;
    const auto original = in.message.utc_timestamp_ns(tag::kOrigSendingTime);
    if (original && original <= in.message.utc_timestamp_ns(tag::kSendingTime)) return true;
    if (!config_.requires_orig_sending_time && !in.message.has(tag::kOrigSendingTime)) return true;
    if (in.sequence == store_->next_target()) consume_number(in.sequence);
    if (!original) {
        const bool is_there = in.message.has(tag::kOrigSendingTime);
        send_reject(in,
                    Rejection{is_there ? RejectReason::incorrect_format : RejectReason::required_tag_missing, "122"});
        return false;
    }
    send_full_reject(in, RejectReason::sending_time_accuracy, "122");
    send_reply_logout(fix::text(RejectReason::sending_time_accuracy), in.now);
    return false;
}

std::optional<Rejection> Session::check(const Message& message) noexcept {
    if (config_.version == Version::fixt11) {
        const auto version = versions_.of(message);
        if (version) return validator_.check(message, versions_.dictionary(*version));
        const bool has_own = message.has(tag::kApplVerId);  // else the Logon determines the version of the MsgType
        return Rejection{RejectReason::invalid_application_version, has_own ? "1128" : ""};
    }
    return validator_.check(message);
}

void Session::sort_by_number(const Inbound& in) {
    const auto type = in.message.msg_type();
    const auto expected = store_->next_target();
    const bool resets = type == "4" && !in.message.boolean(tag::kGapFillFlag).value_or(false);
    const bool any_number = resets || type == "2" || type == "5" ||
                            (type == "A" && in.message.boolean(tag::kResetSeqNumFlag).value_or(false));
    // A held message is checked when it is processed in order.
    if (in.sequence == expected || any_number) {
        if (const auto rejection = check(in.message)) {
            if (in.sequence == expected) consume_number(in.sequence);
            if (rejection->reason == RejectReason::invalid_msg_type) {
                send_full_reject(in, rejection->reason, "35");
            } else {
                send_reject(in, *rejection);
            }
            return;
        }
    }
    const bool has_identity =
        in.message.has(tag::kSenderCompId) && in.message.has(tag::kTargetCompId) && in.message.has(tag::kSendingTime);
    // The latency of a held message is not the peer's: it was checked on arrival.
    if (has_identity && !in.was_held && !passes_identity(in)) return;
    if (in.sequence == expected && !passes_poss_dup(in)) return;
    if (in.sequence == expected || any_number) {
        process_in_turn(in);
    } else if (in.sequence > expected) {
        on_too_high(in);
    } else {
        on_too_low(in);
    }
}

void Session::on_too_high(const Inbound& in) {
    highest_seen_ = std::max(highest_seen_, in.sequence);
    if (held_.hold(in.sequence, in.message.bytes())) {
        counters_.held.add();
    } else {
        counters_.held_dropped.add();
    }
    if (requested_to_ == 0) request_missing(in.now);
}

void Session::on_too_low(const Inbound& in) {
    if (!in.message.boolean(tag::kPossDupFlag).value_or(false)) {
        ReasonText text;
        text.add("MsgSeqNum too low, expecting ").add(store_->next_target());
        text.add(" but received ").add(in.sequence);
        const bool before_logon = state_ == State::awaiting_logon;
        if (config_.reject_low_sequence) {
            send_reject(in, Rejection{RejectReason::value_incorrect, "34"}, text.text());
        } else {
            send_logout(text.text(), in.now);
        }
        if (before_logon) handler_->on_logon_refused({tag::kMsgSeqNum, text.text()});
        if (before_logon || config_.reject_low_sequence) {
            disconnect(Disconnect::sequence_too_low);
        } else {
            ending_ = Disconnect::sequence_too_low;  // the answer to the Logout may also have a number that is too low
        }
        return;
    }
    if (passes_poss_dup(in)) counters_.duplicates.add();
}

void Session::process_in_turn(const Inbound& in) {
    const auto type = in.message.msg_type();
    const auto kind = type.size() == 1 ? type.front() : '\0';
    switch (kind) {
        case '2': on_resend_request(in); return;
        case '4': on_sequence_reset(in); return;
        case '5': on_logout_message(in); return;
        case 'A': on_logon_again(in); return;
        case '0': consume_number(in.sequence); return;
        case '1': on_test_request(in); return;
        case '3':
            consume_number(in.sequence);
            handler_->on_reject(in.message);
            return;
        default: deliver(in); return;
    }
}

void Session::deliver(const Inbound& in) {
    const auto verdict = handler_->on_message(in.message);
    consume_number(in.sequence);
    if (verdict != Verdict::accepted) send_business_reject(in, verdict);
}

void Session::on_test_request(const Inbound& in) {
    consume_number(in.sequence);
    const auto id = in.message.text(tag::kTestReqId).value_or("");
    const auto written = write_draft("0", in.now, [&](Writer& writer) {
        // The peer may be permitted fields without a value; we do not write them.
        if (!id.empty()) writer.add<tag::kTestReqId>(id);
    });
    if (written == Written::not_encoded) {
        send_reject(in, Rejection{RejectReason::value_incorrect, "112"}, "TestReqID is too long for a Heartbeat");
    } else if (written != Written::yes) {
        fail_admin(written, in.now);
    }
}

void Session::on_resend_request(const Inbound& in) {
    if (in.sequence == store_->next_target()) consume_number(in.sequence);
    // A gap fill goes up to kMaxSequence at most.
    const auto newest = std::min(store_->next_sender(), kMaxSequence) - 1;
    const auto first = in.message.unsigned_integer(tag::kBeginSeqNo).value_or(0);
    auto last = in.message.unsigned_integer(tag::kEndSeqNo).value_or(0);
    if (first == 0 || first > kMaxSequence || last > kMaxSequence) {
        send_reject(in, Rejection{RejectReason::value_incorrect, last > kMaxSequence ? "16" : "7"});
        return;
    }
    // A request for messages that were never sent has no answer. A request from the next number on requests nothing.
    const bool is_beyond = first > newest + 1;
    if (is_beyond || (last != 0 && last < first)) {
        ReasonText text;
        if (is_beyond) {
            counters_.beyond.add();
            text.add("BeginSeqNo=").add(first).add(" is beyond the last number sent, ").add(newest);
        } else {
            text.add("EndSeqNo=").add(last).add(" is below BeginSeqNo=").add(first);
        }
        send_reject(in, Rejection{RejectReason::value_incorrect, is_beyond ? "7" : "16"}, text.text());
        if (in.sequence > store_->next_target()) on_too_high(in);
        return;
    }
    // 0 requests all, as 999999 did up to FIX 4.1.
    if (last == 0 || last > newest) last = newest;
    if (first <= last) begin_resend(first, last, in.now);
    // Our own gap is requested after this request is answered; only the number of this message waits.
    if (in.sequence > store_->next_target()) on_too_high(in);
}

void Session::on_sequence_reset(const Inbound& in) {
    const auto expected = store_->next_target();
    const auto next = in.message.unsigned_integer(tag::kNewSeqNo).value_or(0);
    const bool fills = in.message.boolean(tag::kGapFillFlag).value_or(false);
    if (fills && next <= in.sequence) {
        ReasonText text;
        text.add("attempt to lower sequence number, invalid value NewSeqNo=").add(next);
        send_full_reject(in, RejectReason::value_incorrect, "36", text.text());
        return;
    }
    if (next < expected || next > kMaxSequence) {
        send_full_reject(in, RejectReason::value_incorrect, "36");
        return;
    }
    store_->set_next_target(next);
    if (fills) {
        held_.forget_below(next);
    } else {
        forget_ahead();
    }
}

void Session::on_logout_message(const Inbound& in) {
    if (in.sequence == store_->next_target()) consume_number(in.sequence);
    const auto reason = in.message.text(tag::kText).value_or("");
    const bool answers_ours = logout_sent_;
    if (!answers_ours) send_reply_logout("Logout received", in.now);
    report_logout(reason);
    if (config_.reset_on_logout) store_->reset(in.now.utc_ns);
    if (answers_ours || config_.quickfix_replies) {
        disconnect(ending_.value_or(Disconnect::logged_out));
    } else {
        ending_ = Disconnect::logged_out;  // the peer sent its Logout first, so it closes the connection
    }
}

void Session::consume_number(std::uint64_t sequence) noexcept { store_->set_next_target(sequence + 1); }

/// Drops held messages with higher numbers, which are obsolete: the peer restarts its numbers here.
void Session::forget_ahead() noexcept {
    held_.clear();
    requested_to_ = 0;
    highest_seen_ = 0;
    early_logon_ = 0;
    too_long_ = 0;
}

void Session::process_held(core::Moment now) {
    while (!closing_ && !ending_ && state_ != State::awaiting_logon) {
        if (store_->next_target() == early_logon_) consume_number(early_logon_);
        const auto bytes = held_.extract(store_->next_target());
        if (!bytes) break;
        const auto frame = next_frame(std::as_bytes(std::span{bytes->data(), bytes->size()}), bytes->size());
        const auto message = frame ? parser_.parse(*frame, spill_) : std::unexpected(FrameError::incomplete);
        if (!message) break;  // parsed before it was held
        if (message->msg_type() == "2") {
            consume_number(store_->next_target());  // answered when it was received
        } else {
            on_parsed(*message, now, true);
        }
    }
    if (closing_ || ending_ || requested_to_ == 0 || store_->next_target() <= requested_to_) return;
    // All requested messages were received. Checks for another gap, or the next part of this one.
    requested_to_ = 0;
    if (store_->next_target() <= highest_seen_) request_missing(now);
}

/// Requests the messages up to the highest number seen. The answer includes that number, whose message may not be held:
/// a Logon, or one that did not fit.
void Session::request_missing(core::Moment now) {
    const auto first = store_->next_target();
    auto last = highest_seen_;
    bool all = true;
    if (config_.resend_request_chunk != 0 && last - first >= config_.resend_request_chunk) {
        last = first + config_.resend_request_chunk - 1;
        all = false;
    }
    requested_to_ = last;
    progress_ns_ = now.monotonic_ns;
    const std::uint64_t infinity = config_.version <= Version::fix41 ? 999'999 : 0;
    counters_.requests.add();
    write_admin("2", now, [&](Writer& writer) {
        writer.add<tag::kBeginSeqNo>(first).add<tag::kEndSeqNo>(all ? infinity : last);
    });
}

}  // namespace millpond::fix
