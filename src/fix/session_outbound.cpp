#include <millpond/fix/session.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <millpond/fix/msg_type.hpp>

#include "reason_text.hpp"

namespace millpond::fix {
namespace {

// FIX 4.2 defines SessionRejectReason up to 11.
constexpr auto kNewestReasonOf42 = RejectReason::invalid_msg_type;
// FIX 4.0 and 4.1 have no code for this reason, so its text is not the name of a code.
constexpr std::string_view kUnsupportedBefore42 = "Unsupported message type";
// Numbers to skip before returning to the caller: skipping one costs little, but there may be millions.
constexpr std::size_t kMaxNumbersAtOnce = 16'384;
// Gaps in the store to skip before returning to the caller: each one costs a search of the store's slots.
constexpr std::size_t kGapsAtOnce = 4;
constexpr std::size_t kEchoedPart = 16;  // a value repeated in a Reject may use this part of max_message_bytes
constexpr Tag kNoMsgTypes = 384;
constexpr std::string_view kNumbersUsedUp = "outbound sequence numbers used up: reset the session";

void add_unless_empty(Writer& writer, Tag tag, std::string_view value) {
    if (!value.empty()) writer.add(tag, value);
}

void add_logon_types(Writer& writer, const std::vector<LogonMessageType>& types) {
    writer.add<kNoMsgTypes>(types.size());
    for (const auto& one : types) {
        writer.add<tag::kRefMsgType>(std::string_view{one.type}).add<tag::kMsgDirection>(one.sends ? 'S' : 'R');
        if (one.version) writer.add<tag::kRefApplVerId>(appl_ver_id(*one.version));
        if (one.is_default) writer.add<tag::kDefaultVerIndicator>(true);
    }
}

/// Scope in which the session sends nothing: the handler reads bytes that a message would overwrite.
class Closing {
public:
    explicit Closing(bool& closing) noexcept : closing_(&closing), before_(std::exchange(closing, true)) {}
    ~Closing() { *closing_ = before_; }
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;

private:
    bool* closing_;
    bool before_;
};

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

/// Whether the byte continues a UTF-8 character.
bool is_inside_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Value of the field with this tag, given as text (a part of the message) or number.
std::string_view value_of(const Message& message, std::string_view tag_text) noexcept {
    for (const auto& field : message.fields()) {
        if (!tag_text.empty() && message.tag_text(field).data() == tag_text.data()) return message.value(field);
    }
    return message.text(static_cast<Tag>(parse_unsigned(tag_text).value_or(tag::kInvalid))).value_or("");
}

std::string_view text(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::accepted: break;
        case Verdict::other: return "Other";
        case Verdict::unknown_id: return "Unknown ID";
        case Verdict::unknown_security: return "Unknown Security";
        case Verdict::unsupported_message_type: return "Unsupported Message Type";
        case Verdict::application_not_available: return "Application not available";
        case Verdict::conditionally_required_field_missing: return "Conditionally Required Field Missing";
        case Verdict::not_authorized: return "Not authorized";
    }
    return "";
}

/// Parses a stored message. Returns nullopt unless `bytes` is one message with this BeginString and number, and valid
/// BodyLength and CheckSum.
std::optional<Message> stored_message(std::string_view bytes, std::string_view begin, std::uint64_t sequence,
                                      Parser& parser, std::span<Field> spill) {
    const auto frame = next_frame(std::as_bytes(std::span{bytes.data(), bytes.size()}), bytes.size());
    if (!frame || frame->bytes.size() != bytes.size()) return std::nullopt;
    const auto message = parser.parse(*frame, spill);
    const bool is_right =
        message && message->begin_string() == begin && message->unsigned_integer(tag::kMsgSeqNum) == sequence;
    return is_right ? std::optional{*message} : std::nullopt;
}

}  // namespace

void Session::add_header(Writer& writer, std::string_view msg_type, std::uint64_t sequence, core::Moment now,
                         const Routing& routing) const {
    writer.add<tag::kMsgType>(msg_type).add<tag::kMsgSeqNum>(sequence);
    writer.add<tag::kSenderCompId>(std::string_view{config_.sender_comp_id});
    writer.add_timestamp(tag::kSendingTime, now.utc_ns, precision_);
    writer.add<tag::kTargetCompId>(std::string_view{config_.target_comp_id});
    if (routing.poss_resend) writer.add<tag::kPossResend>(true);
    add_tail_of_header(writer, routing);
}

void Session::add_tail_of_header(Writer& writer, const Routing& routing) const {
    if (!routing.empty()) {
        add_routing(writer, routing);
    } else if (!header_fields_.empty()) {
        writer.add_fields(header_fields_);
    }
    if (config_.send_last_processed && config_.version >= Version::fix42) {
        writer.add<tag::kLastMsgSeqNumProcessed>(store_->next_target() - 1);
    }
    if (config_.version == Version::fixt11) add_unless_empty(writer, tag::kApplVerId, routing.appl_ver_id);
}

/// Adds the message's routing fields, and the session's fields that it does not have.
void Session::add_routing(Writer& writer, const Routing& routing) const {
    const auto add = [&](Tag tag, std::string_view value) {
        if (config_.version < AdminDraft::since(tag)) return;
        if (value.empty()) {
            const auto usual = std::ranges::find(config_.header_fields, tag, &FieldValue::tag);
            if (usual != config_.header_fields.end()) value = usual->value;
        }
        add_unless_empty(writer, tag, value);
    };
    add(tag::kSenderSubId, routing.sender_sub_id);
    add(tag::kSenderLocationId, routing.sender_location_id);
    add(tag::kTargetSubId, routing.target_sub_id);
    add(tag::kTargetLocationId, routing.target_location_id);
    add(tag::kOnBehalfOfCompId, routing.on_behalf_of_comp_id);
    add(tag::kOnBehalfOfSubId, routing.on_behalf_of_sub_id);
    add(tag::kDeliverToCompId, routing.deliver_to_comp_id);
    add(tag::kDeliverToSubId, routing.deliver_to_sub_id);
    add(tag::kOnBehalfOfLocationId, routing.on_behalf_of_location_id);
    add(tag::kDeliverToLocationId, routing.deliver_to_location_id);
}

/// Adds the fields of the configuration and of the handler to a session message; the handler may not send meanwhile.
void Session::complete(AdminDraft& draft) {
    if (draft.is_logon()) {
        for (const auto& field : config_.logon_fields) {
            if (!draft.set(field.tag, field.value)) draft.fail();
        }
    }
    const Closing closing{closing_};
    handler_->on_send_admin(draft);
}

Session::Written Session::send_draft(std::optional<std::string_view> message, core::Moment now) {
    if (!message) return Written::not_encoded;
    AdminDraft draft{*message, std::span{draft_memory_}.subspan(config_.max_message_bytes)};
    complete(draft);
    if (const auto refusal = draft.refusal()) {
        refuse_logon({.reason = *refusal});
        return Written::refused;
    }
    const auto claimed = store_->claim(config_.max_message_bytes);
    if (claimed.empty()) return Written::store_full;
    const auto bytes = draft.encode(claimed, begin_string(config_.version));
    if (!bytes) {
        store_->abandon();
        return Written::not_encoded;
    }
    hand_over(*bytes, now);
    return Written::yes;
}

void Session::hand_over(std::string_view bytes, core::Moment now) {
    const auto sequence = store_->commit(bytes);
    counters_.sent.add();
    last_sent_ns_ = now.monotonic_ns;
    handler_->send(sequence, bytes);
}

void Session::send_logon(core::Moment now, bool reset) {
    write_admin("A", now, [&](Writer& writer) {
        writer.add<tag::kEncryptMethod>('0').add<tag::kHeartBtInt>(heartbeat_ns_ / 1'000'000'000);
        if (reset && config_.version >= Version::fix41) writer.add<tag::kResetSeqNumFlag>(true);
        if (config_.role == Role::initiator) {
            add_unless_empty(writer, tag::kUsername, config_.username);
            add_unless_empty(writer, tag::kPassword, config_.password);
        }
        if (config_.send_next_expected) writer.add<tag::kNextExpectedMsgSeqNum>(store_->next_target());
        if (!config_.logon_types.empty()) add_logon_types(writer, config_.logon_types);
        if (config_.version == Version::fixt11) {
            writer.add<tag::kDefaultApplVerId>(std::string_view{config_.default_appl_ver_id});
        }
    });
}

void Session::send_heartbeat(std::string_view test_req_id, core::Moment now) {
    write_admin("0", now, [&](Writer& writer) { add_unless_empty(writer, tag::kTestReqId, test_req_id); });
}

void Session::send_logout(std::string_view reason, core::Moment now) {
    if (logout_sent_ || closing_) return;
    logout_sent_ = true;
    logout_ns_ = now.monotonic_ns;
    if (state_ == State::active) state_ = State::awaiting_logout;
    // The Logout must be sent whatever the reason contains.
    std::array<char, kMaxReasonBytes> text;
    auto bytes = std::min({reason.size(), text.size(), config_.max_message_bytes / 4});
    while (bytes != 0 && bytes < reason.size() && is_inside_character(reason[bytes])) --bytes;
    std::ranges::transform(reason.substr(0, bytes), text.begin(), [](char c) { return is_control(c) ? '?' : c; });
    write_admin("5", now, [&](Writer& writer) { add_unless_empty(writer, tag::kText, {text.data(), bytes}); });
}

/// Sends a Logout after a Reject, or in answer to a Logout.
void Session::send_reply_logout(std::string_view text, core::Moment now) {
    send_logout(config_.quickfix_replies ? std::string_view{} : text, now);
}

void Session::send_full_reject(const Inbound& in, RejectReason reason, std::string_view tag_text,
                               std::string_view text) {
    send_reject(in, Rejection{reason, tag_text}, text, !config_.quickfix_replies);
}

void Session::send_reject(const Inbound& in, const Rejection& rejection, std::string_view text, bool names_tag) {
    counters_.rejected.add();
    const auto words = text.empty() ? fix::text(rejection.reason) : text;
    const auto tag_text = names_tag ? rejection.tag_text : std::string_view{};
    const bool has_reference = config_.version >= Version::fix42;
    write_admin(
        "3", in.now,
        [&](Writer& writer) {
            writer.add<tag::kRefSeqNum>(in.sequence);
            if (has_reference || tag_text.empty()) {
                writer.add<tag::kText>(words);
            } else {
                // Before FIX 4.2 only the text can name the field.
                ReasonText named;
                named.add(words).add(" (").add(tag_text).add(")");
                writer.add<tag::kText>(named.text());
            }
            if (!has_reference) return;
            add_unless_empty(writer, tag::kRefTagId, echoed(tag_text));
            add_unless_empty(writer, tag::kRefMsgType, echoed(in.message.msg_type()));
            if (config_.version > Version::fix42 || rejection.reason <= kNewestReasonOf42) {
                writer.add<tag::kSessionRejectReason>(static_cast<unsigned>(rejection.reason));
            }
        },
        way_back(in.message));
    if (state_ == State::awaiting_logon) return;  // on_logon_refused follows
    const bool is_missing = rejection.reason == RejectReason::required_tag_missing;
    handler_->on_rejected({.reason = fix::text(rejection.reason),
                           .detail = text,
                           .sequence = in.sequence,
                           .msg_type = in.message.msg_type(),
                           .tag_text = rejection.tag_text,
                           .value = is_missing ? std::string_view{} : value_of(in.message, rejection.tag_text),
                           .in_logon = in.message.msg_type() == "A",
                           .bytes = in.message.bytes().size()});
}

void Session::send_business_reject(const Inbound& in, Verdict verdict) {
    counters_.rejected.add();
    const bool known = config_.version >= Version::fix42;  // the version has BusinessMessageReject
    const auto fill = [&](Writer& writer) {
        const bool unsupported = verdict == Verdict::unsupported_message_type;
        writer.add<tag::kRefSeqNum>(in.sequence);
        writer.add<tag::kText>(unsupported && !known ? kUnsupportedBefore42 : text(verdict));
        if (!known) return;
        add_unless_empty(writer, tag::kRefMsgType, echoed(in.message.msg_type()));
        writer.add<tag::kBusinessRejectReason>(static_cast<int>(verdict));
        if (config_.appl_ver_id_in_business_reject && config_.version == Version::fixt11) {
            writer.add<tag::kDefaultApplVerId>(std::string_view{config_.default_appl_ver_id});
        }
    };
    const auto routing = way_back(in.message);
    fail_admin(known ? write_message("j", in.now, fill, routing) : write_draft("3", in.now, fill, routing), in.now);
    handler_->on_rejected({.kind = RejectedMessage::Kind::business,
                           .reason = text(verdict),
                           .sequence = in.sequence,
                           .msg_type = in.message.msg_type(),
                           .bytes = in.message.bytes().size()});
}

/// A value of the peer that a reply repeats; empty if it is too long for the reply.
std::string_view Session::echoed(std::string_view value) const noexcept {
    return value.size() <= config_.max_message_bytes / kEchoedPart ? value : std::string_view{};
}

Routing Session::way_back(const Message& message) const noexcept {
    auto routing = Routing::reverse_of(message);
    for (auto* value :
         {&routing.on_behalf_of_comp_id, &routing.deliver_to_comp_id, &routing.on_behalf_of_sub_id,
          &routing.deliver_to_sub_id, &routing.on_behalf_of_location_id, &routing.deliver_to_location_id}) {
        *value = echoed(*value);
    }
    return routing;
}

void Session::fail_admin(Written why, core::Moment now) {
    switch (why) {
        case Written::yes:
        case Written::refused: return;
        case Written::store_full: disconnect(Disconnect::send_refused); return;
        case Written::no_number: end_numbers(now); return;
        case Written::not_encoded: break;
    }
    if (state_ == State::awaiting_logon) handler_->on_logon_refused({.reason = name(Disconnect::not_encoded)});
    disconnect(Disconnect::not_encoded);
}

/// Ends the session at the last number, which is reserved for the Logout that reports it.
void Session::end_numbers(core::Moment now) {
    if (closing_) return;
    const bool before_logon = state_ == State::awaiting_logon;
    if (before_logon) handler_->on_logon_refused({tag::kMsgSeqNum, kNumbersUsedUp});
    ending_ = Disconnect::numbers_used_up;
    const bool can_say = !logout_sent_ && store_->next_sender() == kMaxSequence;
    if (can_say) send_logout(kNumbersUsedUp, now);
    if (!can_say || before_logon) disconnect(Disconnect::numbers_used_up);
}

/// Starts or extends a resend: a request that begins after the part already answered extends the answer; any other
/// replaces it.
void Session::begin_resend(std::uint64_t first, std::uint64_t last, core::Moment now) {
    if (!resend_.empty() && first > resend_.next) {
        resend_.last = std::max(resend_.last, last);
        continue_resend(now);
        return;
    }
    end_resend();
    resend_ = {.next = first, .last = last, .gap = first, .all = {.first = first, .last = first}};
    continue_resend(now);
}

void Session::end_resend() {
    auto over = std::exchange(resend_, {});
    if (over.all.messages == 0) return;
    over.all.last = over.gap - 1;
    counters_.lost_requests.add();
    handler_->on_history_lost(over.all);
}

bool Session::is_worth_resending(const Message& message) {
    const Closing closing{closing_};
    if (handler_->may_resend(message)) return true;
    counters_.withheld.add();
    return false;
}

void Session::continue_resend(core::Moment now) {
    if (resend_.empty() || closing_ || ending_) return;
    std::size_t sent = 0;
    std::size_t gaps = 0;
    for (std::size_t checked = 0; !resend_.empty(); ++checked) {
        if (sent == config_.resend_burst || checked == kMaxNumbersAtOnce || handler_->congested()) return;
        const auto sequence = resend_.next;
        const auto damaged = store_->counters().damaged.read();
        const auto stored = store_->retrieve(sequence);
        resend_.all.damaged += store_->counters().damaged.read() - damaged;
        if (!stored) {
            if (gaps++ == kGapsAtOnce) return;
            resend_.next = std::min(store_->next_kept(sequence + 1), resend_.last + 1);
            resend_.lost += resend_.next - sequence - store_->skipped(sequence, resend_.next);
            continue;
        }
        const auto message = stored_message(*stored, begin_string(config_.version), sequence, stored_parser_, spill_);
        if (!message) {
            store_->count_damaged();
            ++resend_.all.damaged;
            ++resend_.lost;
            ++resend_.next;
            continue;
        }
        const bool is_sent = !is_session_message(message->msg_type()) && is_worth_resending(*message);
        ++resend_.next;  // not earlier: if the handler throws, it is asked about the message again
        if (!is_sent) continue;
        if (resend_.gap < sequence) resend_gap(resend_.gap, sequence, now);
        resend_.gap = sequence;
        if (!resend_message(*message, now)) continue;
        ++sent;
        resend_.gap = sequence + 1;
    }
    if (resend_.gap < resend_.next) resend_gap(resend_.gap, resend_.next, now);
    resend_.gap = resend_.next;
    end_resend();
}

void Session::resend_gap(std::uint64_t from, std::uint64_t next, core::Moment now) {
    Writer writer{draft_buffer(), begin_string(config_.version)};
    writer.add<tag::kMsgType>('4').add<tag::kMsgSeqNum>(from).add<tag::kPossDupFlag>(true);
    writer.add<tag::kSenderCompId>(std::string_view{config_.sender_comp_id});
    writer.add_timestamp(tag::kSendingTime, now.utc_ns, precision_);
    writer.add<tag::kTargetCompId>(std::string_view{config_.target_comp_id});
    writer.add_timestamp(tag::kOrigSendingTime, now.utc_ns, precision_);
    add_tail_of_header(writer, {});
    writer.add<tag::kNewSeqNo>(next).add<tag::kGapFillFlag>(true);
    const auto message = writer.finish();
    if (!message) return;
    AdminDraft draft{*message, std::span{draft_memory_}.subspan(config_.max_message_bytes)};
    complete(draft);
    const auto bytes = draft.encode(scratch_, begin_string(config_.version));
    if (!bytes) return;
    counters_.gap_fills.add();
    last_sent_ns_ = now.monotonic_ns;
    handler_->send(0, *bytes);
    if (resend_.lost == 0) return;
    counters_.lost_fills.add();
    counters_.lost.add(resend_.lost);
    resend_.all.messages += std::exchange(resend_.lost, 0);
    ++resend_.all.gap_fills;
}

/// Resends the stored message with PossDupFlag, a new SendingTime and OrigSendingTime.
bool Session::resend_message(const Message& message, core::Moment now) {
    Writer writer{scratch_, begin_string(config_.version)};
    const auto original_time = message.text(tag::kSendingTime).value_or("");
    bool flag_added = false;
    bool time_added = false;
    const std::size_t trailer = message.fields().back().offset - 3;
    auto body = trailer;
    for (std::size_t i = 2; i + 1 < message.fields().size(); ++i) {
        const auto& field = message.fields()[i];
        const bool of_header = field.tag == tag::kMsgType || validator_.is_header(field.tag);
        if ((!of_header || field.tag > tag::kPossDupFlag) && !flag_added) {
            writer.add<tag::kPossDupFlag>(true);
            flag_added = true;
        }
        if ((!of_header || field.tag > tag::kOrigSendingTime) && !time_added) {
            writer.add<tag::kOrigSendingTime>(original_time);
            time_added = true;
        }
        if (!of_header) {
            body = field.offset - message.tag_text(field).size() - 1;
            break;
        }
        if (field.tag == tag::kSendingTime) {
            writer.add_timestamp(tag::kSendingTime, now.utc_ns, precision_);
        } else {
            writer.add(field.tag, message.value(field));
        }
    }
    if (!flag_added) writer.add<tag::kPossDupFlag>(true);
    if (!time_added) writer.add<tag::kOrigSendingTime>(original_time);
    writer.add_fields(message.bytes().substr(body, trailer - body));
    const auto bytes = writer.finish();
    if (!bytes) return false;
    counters_.resent.add();
    last_sent_ns_ = now.monotonic_ns;
    handler_->send(0, *bytes);
    return true;
}

}  // namespace millpond::fix
