#include <millpond/fix/session.hpp>

#include <millpond/fix/session_ids.hpp>
#include <millpond/fix/wire_bounds.hpp>

#include "reason_text.hpp"
#include "sequence_of.hpp"

namespace millpond::fix {
namespace {

constexpr std::string_view kNotEncrypted = "0";
constexpr std::string_view kBadInterval = "HeartBtInt is not a number of seconds from 0 to 2147483647";
static_assert(kMaxHeartbeatSeconds == 2'147'483'647);
constexpr std::string_view kBadAnswer = "HeartBtInt is neither that of our Logon nor from 1 to 3600";
static_assert(kMaxAnsweredSeconds == 3'600);
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::string_view kTooManyTypes = "NoMsgTypes gives versions to more than 256 message types";
static_assert(ApplicationVersions::kMaxTypes == 256);
constexpr std::string_view kTypeTooLong = "RefMsgType has more than 8 characters";
static_assert(ApplicationVersions::kMaxTypeChars == 8);

/// Text of the error: lists the supported versions.
ReasonText wrong_default_text(const ApplicationVersions& versions) noexcept {
    ReasonText text;
    std::string_view between = "DefaultApplVerID is not ";
    for (auto i = static_cast<int>(ApplicationVersion::fix40); i <= static_cast<int>(ApplicationVersion::latest); ++i) {
        const auto version = static_cast<ApplicationVersion>(i);
        if (!versions.has(version)) continue;
        text.add(between).add(appl_ver_id(version));
        between = " or ";
    }
    return text;
}

}  // namespace

/// Reason to refuse a Logon.
struct Session::LogonFault {
    Rejection rejection;
    ReasonText text{};  // replaces the text of the reason unless empty

    [[nodiscard]] std::string_view words() const noexcept {
        return text.text().empty() ? fix::text(rejection.reason) : text.text();
    }
    [[nodiscard]] Tag tag() const noexcept {
        return static_cast<Tag>(parse_unsigned(rejection.tag_text).value_or(tag::kInvalid));
    }
};

void Session::on_parsed_before_logon(const Message& message, core::Moment now) {
    const auto type = message.msg_type();
    if (message.begin_string() != begin_string(config_.version)) {
        refuse_logon({tag::kBeginString, "BeginString is not the session's"});
        return;
    }
    if (const auto wrong = wrong_comp_id(message); wrong != tag::kInvalid) {
        refuse_logon({wrong, "CompID is not the session's"});
        return;
    }
    if (const auto wrong = config_.role == Role::acceptor ? wrong_sub_id(message, config_) : tag::kInvalid;
        wrong != tag::kInvalid) {
        refuse_logon({wrong, "SubID or LocationID is not the session's"});
        return;
    }
    if (config_.role == Role::initiator && (type == "3" || type == "5")) {
        // The acceptor states why it refuses our Logon; a Logout follows its Reject.
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
    // An initiator's Logon may belong to the previous run.
    if (run_is_over(now)) {
        disconnect(Disconnect::outside_schedule);
        return;
    }
    // Before any reply, because a reply uses a number, and only a counterparty may cause that.
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
    if (const auto closed = handler_->closed_because(); !closed.empty()) {
        send_logout(closed, now);
        refuse_logon({.reason = closed});
        return;
    }
    const Inbound in{message, *sequence, now};
    if (!is_timely(message, now)) {
        refuse_logon(in, {.rejection = {RejectReason::sending_time_accuracy, "52"}});
    } else if (const auto fault = fault_of_logon(in)) {
        refuse_logon(in, *fault);
    } else {
        on_first_logon(in);
    }
}

/// Checks a Logon of the right peer, the first of a connection or a later one.
std::optional<Session::LogonFault> Session::fault_of_logon(const Inbound& in) noexcept {
    const auto& message = in.message;
    if (const auto rejection = check(message)) return LogonFault{.rejection = *rejection};
    const auto wrong = [](std::string_view tag_text, std::string_view text, std::string_view rest = {}) {
        return LogonFault{.rejection = {RejectReason::value_incorrect, tag_text},
                          .text = ReasonText{}.add(text).add(rest)};
    };
    if (message.text(tag::kEncryptMethod) != kNotEncrypted) {
        return wrong("98", "EncryptMethod is not supported: only 0 is");
    }
    const auto interval = message.integer(tag::kHeartBtInt).value_or(-1);
    if (interval < 0 || interval > kMaxHeartbeatSeconds) return wrong("108", kBadInterval);
    // A wrong interval, or none, must not hide a dead connection.
    const bool is_ours = config_.role == Role::acceptor || interval * kSecondNs == heartbeat_ns_;
    if (!is_ours && (interval == 0 || interval > kMaxAnsweredSeconds)) return wrong("108", kBadAnswer);
    if (message.boolean(tag::kResetSeqNumFlag).value_or(false) && in.sequence != 1) {
        return wrong("34", "MsgSeqNum of a Logon with ResetSeqNumFlag is not 1");
    }
    if (config_.version != Version::fixt11) return std::nullopt;
    // Learned even if the Logon is refused for another reason: the connection ends then.
    switch (versions_.learn(message)) {
        case ApplicationVersions::Fault::none: break;
        case ApplicationVersions::Fault::unknown_default:
            if (!config_.quickfix_replies) {
                return LogonFault{.rejection = {RejectReason::value_incorrect, "1137"},
                                  .text = wrong_default_text(versions_)};
            }
            return wrong("1137", "Invalid DefaultApplVerID=", message.text(tag::kDefaultApplVerId).value_or(""));
        case ApplicationVersions::Fault::too_many_types: return wrong("384", kTooManyTypes);
        case ApplicationVersions::Fault::type_too_long: return wrong("372", kTypeTooLong);
    }
    return std::nullopt;
}

/// Sets the heartbeat interval: the initiator chooses it, but acceptors may answer with another one.
void Session::adopt_interval(const Message& logon) {
    const auto seconds = logon.integer(tag::kHeartBtInt).value_or(0);
    if (seconds * kSecondNs == heartbeat_ns_) return;
    heartbeat_ns_ = seconds * kSecondNs;
    if (config_.role == Role::initiator) handler_->on_heartbeat_changed(seconds);
}

/// Checks NextExpectedMsgSeqNum. next_sender: before our answer.
std::optional<Session::LogonFault> Session::fault_of_next_expected(const Message& logon,
                                                                   std::uint64_t next_sender) noexcept {
    const auto expected = logon.unsigned_integer(tag::kNextExpectedMsgSeqNum);
    if (!expected || (*expected != 0 && *expected <= next_sender)) return std::nullopt;
    LogonFault fault{.rejection = {RejectReason::value_incorrect, "789"}};
    fault.text.add("NextExpectedMsgSeqNum too ").add(*expected == 0 ? "low" : "high");
    fault.text.add(", expected at most ").add(next_sender).add(" but received ").add(*expected);
    return fault;
}

/// Refuses a Logon without a reply.
void Session::refuse_logon(const LogonRefusal& why) {
    handler_->on_logon_refused(why);
    disconnect(Disconnect::logon_refused);
}

void Session::refuse_logon(const Inbound& in, const LogonFault& fault) {
    if (!config_.quickfix_replies) {
        send_reject(in, fault.rejection, fault.text.text());
        send_logout(fault.words(), in.now);
    } else if (fault.tag() == tag::kDefaultApplVerId && fault.rejection.reason == RejectReason::value_incorrect) {
        // Replies as QuickFIX/J does to such a Logon, with the number that a Logon would have here.
        if (config_.role == Role::acceptor && config_.reset_on_logon) store_->reset(in.now.utc_ns);
        send_logout(fault.words(), in.now);
    }
    refuse_logon({fault.tag(), fault.words()});
}

void Session::on_first_logon(const Inbound& in) {
    const bool acceptor = config_.role == Role::acceptor;
    const bool resets = in.message.boolean(tag::kResetSeqNumFlag).value_or(false);
    adopt_interval(in.message);
    if (acceptor) {
        if (resets || config_.reset_on_logon) store_->reset(in.now.utc_ns);
    } else if (resets && reset_sent_) {
        store_->set_next_target(1);
    } else if (resets) {
        // The acceptor resets both numbers: our Logon counts as the first message.
        store_->reset(in.now.utc_ns);
        store_->skip_to(2);
    }
    const auto expected = store_->next_target();
    if (in.sequence < expected && !in.message.boolean(tag::kPossDupFlag).value_or(false)) {
        on_too_low(in);
        return;
    }
    const auto next_expected = in.message.unsigned_integer(tag::kNextExpectedMsgSeqNum);
    const auto ours = store_->next_sender();
    if (const auto fault = fault_of_next_expected(in.message, ours)) {
        send_logout(fault->words(), in.now);
        refuse_logon({fault->tag(), fault->words()});
        return;
    }
    // Before the answer, which includes the next expected number.
    if (in.sequence == expected) consume_number(in.sequence);
    if (acceptor) send_logon(in.now, resets);
    if (closing_) return;
    state_ = State::active;
    application_is_on_ = true;
    handler_->on_logon();
    if (next_expected && *next_expected < ours) begin_resend(*next_expected, ours - 1, in.now);
    if (in.sequence > expected) {
        highest_seen_ = in.sequence;
        if (config_.send_next_expected) {
            // With NextExpectedMsgSeqNum the peer knows from our Logon what is missing before its own Logon, and does
            // not fill that.
            early_logon_ = in.sequence;
            requested_to_ = in.sequence - 1;
            progress_ns_ = in.now.monotonic_ns;
        } else {
            request_missing(in.now);
        }
    }
}

/// Handles a Logon while logged on: only one that resets both numbers is valid.
void Session::on_logon_again(const Inbound& in) {
    if (!in.message.boolean(tag::kResetSeqNumFlag).value_or(false)) {
        if (in.sequence == store_->next_target()) consume_number(in.sequence);
        send_full_reject(in, RejectReason::other, "35");
        return;
    }
    auto fault = fault_of_logon(in);
    if (!fault) fault = fault_of_next_expected(in.message, 1);
    if (!fault && !handler_->may_log_on(in.message)) {
        fault = {.rejection = {RejectReason::other, "35"}, .text = ReasonText{}.add("not authorized")};
    }
    if (!fault) {
        reset_by_logon(in);
        return;
    }
    if (in.sequence == store_->next_target()) consume_number(in.sequence);
    send_full_reject(in, fault->rejection.reason, fault->rejection.tag_text, fault->words());
    send_reply_logout(fault->words(), in.now);
    ending_ = Disconnect::logon_refused;
    handler_->on_logon_refused({fault->tag(), fault->words()});
}

void Session::reset_by_logon(const Inbound& in) {
    end_resend();
    store_->reset(in.now.utc_ns);
    forget_ahead();
    store_->set_next_target(2);
    adopt_interval(in.message);
    send_logon(in.now, true);
}

}  // namespace millpond::fix
