#include "fixd/sessions/session_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include <millpond/core/clock.hpp>
#include <millpond/fix/value.hpp>

#include "fixd/settings/session_values.hpp"

namespace millpond::fixd {
namespace {

using service::EventKind;

constexpr std::size_t kMaxDetailBytes = 160;
constexpr std::int64_t kSecondNs = 1'000'000'000;
/// Orders, quotes and their changes, which resend_max_age_seconds applies to.
constexpr std::string_view kAgingTypes[] = {"D", "E", "F", "G", "S", "i", "q", "s", "t", "u", "AB", "AC"};

/// Text from a peer, made safe for the log.
std::string printable(std::string_view text) {
    std::string line{text.substr(0, kMaxDetailBytes)};
    for (auto& c : line) {
        if (c < ' ' || c > '~') c = '?';
    }
    return line;
}

/// "127.0.0.1:4711: Logon refused: tag 108: HeartBtInt is ..." or "...: unknown session: tag 49 is 'DESK'"
std::string line_of(const engine::Refusal& why) {
    auto line = why.peer.empty() ? std::string{} : why.peer.to_string() + ": ";
    line += name(why.reason);
    const auto detail = printable(why.detail);
    if (why.reason == engine::RefusalReason::unknown_session) {
        return line + (detail.empty() ? fmt::format(": tag {} is missing", why.tag)
                                      : fmt::format(": tag {} is '{}'", why.tag, detail));
    }
    if (why.tag != fix::tag::kInvalid) line += fmt::format(": tag {}", why.tag);
    return detail.empty() ? line : line + ": " + detail;
}

/// "message 2 (35=D) rejected: tag 44 '1e5': Incorrect data format for value"
std::string line_of(const fix::RejectedMessage& rejected, const fix::SecretTags& secrets) {
    using Kind = fix::RejectedMessage::Kind;
    const auto type = rejected.msg_type.empty() ? std::string{} : fmt::format(" (35={})", printable(rejected.msg_type));
    auto line = rejected.sequence == 0 ? fmt::format("message of unknown number{}", type)
                                       : fmt::format("message {}{}", rejected.sequence, type);
    line += rejected.kind == Kind::business  ? " rejected by the application"
            : rejected.kind == Kind::session ? " rejected"
                                             : " not read";
    if (!rejected.tag_text.empty()) {
        line += fmt::format(": tag {}", printable(rejected.tag_text));
        const auto tag = tag_of(rejected.tag_text);
        // A tag that is not a number may be a misspelled secret tag.
        const bool is_secret = tag == fix::tag::kInvalid || secrets.hides(tag, rejected.in_logon);
        if (!rejected.value.empty()) {
            line += is_secret ? std::string{" (value hidden)"} : fmt::format(" '{}'", printable(rejected.value));
        }
    }
    return line + ": " + printable(rejected.detail.empty() ? rejected.reason : rejected.detail);
}

/// Advice if the sequence numbers of both sides do not match; else empty.
std::string advice_on(const engine::Refusal& why, const std::string& store) {
    if (why.detail.find("MsgSeqNum too low") == std::string_view::npos) return {};
    const auto* const cure =
        why.tag == fix::tag::kMsgSeqNum
            ? "if the counterparty has reset its own, run `millpond fix sessions reset`"
            : "`millpond fix sessions set-seq --next-out` sets the number that the counterparty expects, "
              "`reset_on_logon` resets both sides";
    return fmt::format("; our numbers are in {}: {}", store.empty() ? "memory" : store, cure);
}

}  // namespace

void AcceptorLog::on_refused(const engine::Refusal& why) {
    log_->say(service::Severity::warning, fmt::format("{}.refused.{}", acceptor_, name(why.reason)),
              fmt::format("{}: connection refused: {}", acceptor_, line_of(why)));
}

void AcceptorLog::on_reclaimed(const std::string& session) {
    if (quiet_) return;
    log_->say(service::Severity::info, acceptor_ + ".reclaimed",
              fmt::format("{}: removed for a new session: it is disconnected", session));
}

bool SessionLog::may_log_on(engine::SessionLink& link, const fix::Message& logon) {
    return inner_->may_log_on(link, logon);
}

void SessionLog::on_send_admin(engine::SessionLink& link, fix::AdminDraft& draft) {
    if (draft.msg_type() == "2") add_gap(link, draft);
    inner_->on_send_admin(link, draft);
}

/// Adds the event of our ResendRequest.
void SessionLog::add_gap(engine::SessionLink& link, const fix::AdminDraft& request) {
    const auto number = [&](fix::Tag tag) { return fix::parse_unsigned(request.text(tag).value_or("")).value_or(0); };
    const auto first = number(fix::tag::kBeginSeqNo);
    const auto last = number(fix::tag::kEndSeqNo);  // 0: all later ones
    SessionEvent event{.kind = EventKind::gap,
                       .severity = service::Severity::warning,
                       .session = link.handle().name(),
                       .text = last == 0
                                   ? fmt::format("messages from {} on are missing and were requested", first)
                                   : fmt::format("messages {} to {} are missing and were requested", first, last)};
    if (last != 0) event.range = {first, last};
    records_->of(event.session)->add_gap(event.text, core::utc_nanos());
    events_->add(std::move(event));
}

void SessionLog::note_error(engine::SessionLink& link, std::string text) {
    records_->of(link.handle().name())->set_error(std::move(text), core::utc_nanos());
}

void SessionLog::on_logon(engine::SessionLink& link) {
    logged_on_[&link] = records_->of(link.handle().name());
    log(EventKind::logon, service::Severity::info, link, "logged on", link.peer().to_string());
    inner_->on_logon(link);
}

void SessionLog::on_logout(engine::SessionLink& link, std::string_view text) {
    log(EventKind::logout, service::Severity::info, link, "logged out", printable(text));
    inner_->on_logout(link, text);
}

void SessionLog::on_refused(engine::SessionLink& link, const engine::Refusal& why) {
    const auto& session = link.handle().name();
    auto cause = fmt::format("{}.not logged on.{}", session, name(why.reason));
    if (why.reason == engine::RefusalReason::unreachable) {
        cause += "." + (why.peer.empty() ? std::string{why.detail} : why.peer.to_string());  // a line for each host
    } else {
        const std::lock_guard guard{lock_};
        refused_.insert(&link);
    }
    log_->say(service::Severity::warning, cause,
              fmt::format("{}: not logged on: {}{}", session, line_of(why), advice_on(why, store_)));
    events_->add({.kind = EventKind::disconnect,
                  .severity = service::Severity::warning,
                  .session = session,
                  .text = "not logged on: " + line_of(why)});
    note_error(link, "not logged on: " + line_of(why));
    inner_->on_refused(link, why);
}

void SessionLog::on_closed(engine::SessionLink& link, engine::Closed reason) {
    const bool expected = reason == engine::Closed::logged_out || reason == engine::Closed::shut_down;
    if (!was_refused(link)) {
        log(EventKind::disconnect, expected ? service::Severity::info : service::Severity::warning, link, "closed",
            name(reason));
        if (!expected) note_error(link, fmt::format("closed: {}", name(reason)));
    }
    logged_on_.erase(&link);
    inner_->on_closed(link, reason);
}

fix::Verdict SessionLog::on_message(engine::SessionLink& link, const fix::Message& message) {
    const auto verdict = inner_->on_message(link, message);
    copies_.on_received(link.session(), message);
    if (const auto known = logged_on_.find(&link); known != logged_on_.end()) {
        known->second->latencies().add(core::monotonic_nanos() - link.began_ns());
    }
    return verdict;
}

bool SessionLog::may_resend(engine::SessionLink& link, const fix::Message& message) {
    const auto now_ns = core::utc_nanos();
    if (!is_too_old(message, now_ns)) return inner_->may_resend(link, message);
    // Logged once a second: there may be thousands at once.
    if (now_ns - logged_ns_ > kSecondNs) {
        logged_ns_ = now_ns;
        log(EventKind::resend, service::Severity::warning, link, "not resent",
            fmt::format("message {} and others are older than {} s; the counterparty gets gap fills in their place",
                        message.text(fix::tag::kMsgSeqNum).value_or("?"), max_age_seconds_));
    }
    return false;
}

bool SessionLog::is_too_old(const fix::Message& message, std::int64_t now_ns) const {
    if (max_age_seconds_ == 0) return false;
    if (std::ranges::find(kAgingTypes, message.msg_type()) == std::end(kAgingTypes)) return false;
    const auto sent = message.utc_timestamp_ns(fix::tag::kSendingTime);
    return sent && now_ns - *sent > max_age_seconds_ * kSecondNs;
}

void SessionLog::on_reject(engine::SessionLink& link, const fix::Message& reject) {
    const auto text = printable(reject.text(fix::tag::kText).value_or(""));
    log(EventKind::reject, service::Severity::warning, link, "rejected by the peer", text);
    records_->of(link.handle().name())->add_peer_reject(text, core::utc_nanos());
    note_error(link, "rejected by the peer: " + text);
    inner_->on_reject(link, reject);
}

void SessionLog::on_rejected(engine::SessionLink& link, const fix::RejectedMessage& rejected) {
    const auto now_ns = core::utc_nanos();
    const auto known = logged_on_.find(&link);
    const auto record = known != logged_on_.end() ? known->second : records_->of(link.handle().name());
    if (const auto others = record->count_rejection(rejected.reason, now_ns)) {
        const auto& session = link.handle().name();
        auto text = line_of(rejected, secrets_);
        log_->say(service::Severity::warning, fmt::format("{}.rejected.{}", session, rejected.reason),
                  fmt::format("{}: {}{}", session, text,
                              *others == 0 ? "" : fmt::format(" ({} others before it have no line)", *others)));
        events_->add({.kind = EventKind::reject,
                      .severity = service::Severity::warning,
                      .session = session,
                      .text = text,
                      .count = static_cast<std::uint32_t>(*others + 1)});
        record->set_error(text, now_ns);
        record->set_newest(rejected.reason, std::move(text));
    }
    inner_->on_rejected(link, rejected);
}

void SessionLog::on_heartbeat_changed(engine::SessionLink& link, std::int64_t seconds) {
    if (records_->of(link.handle().name())->set_heartbeat(seconds)) {
        log(EventKind::session, service::Severity::warning, link, "heartbeat",
            fmt::format("the counterparty answers with HeartBtInt {}, which is used in place of {}", seconds,
                        link.session().config().heartbeat_seconds));
    }
    inner_->on_heartbeat_changed(link, seconds);
}

void SessionLog::on_history_lost(engine::SessionLink& link, const fix::LostHistory& lost) {
    const auto& session = link.handle().name();
    const auto& all = link.session().counters();
    events_->add({.kind = EventKind::resend,
                  .severity = service::Severity::warning,
                  .session = session,
                  .text = fmt::format("of the messages {} to {}, {} are not in the store and were not resent",
                                      lost.first, lost.last, lost.messages),
                  .range = {{lost.first, lost.last}}});
    // Totals show losses whose lines the rate limit suppressed.
    log_->say(service::Severity::warning, session + ".history lost",
              fmt::format("{}: history lost: of the messages {} to {}, {} are not in the store{}; the counterparty "
                          "got {} in their place (since the start: {} messages, {} gap fills, {} ResendRequests)",
                          session, lost.first, lost.last, lost.messages,
                          lost.damaged == 0 ? "" : fmt::format(" or damaged ({} of them)", lost.damaged),
                          lost.gap_fills == 1 ? "a gap fill" : fmt::format("{} gap fills", lost.gap_fills),
                          all.lost.read(), all.lost_fills.read(), all.lost_requests.read()));
    inner_->on_history_lost(link, lost);
}

bool SessionLog::was_refused(const engine::SessionLink& link) {
    const std::lock_guard guard{lock_};
    return refused_.erase(&link) != 0;
}

void SessionLog::log(EventKind kind, service::Severity severity, engine::SessionLink& link, std::string_view what,
                     std::string_view detail) {
    const auto& session = link.handle().name();
    auto text = fmt::format("{}{}{}", what, detail.empty() ? "" : ": ", detail);
    if (!quiet_ || severity != service::Severity::info) {
        log_->say(severity, fmt::format("{}.{}", session, what), fmt::format("{}: {}", session, text));
    }
    events_->add({.kind = kind, .severity = severity, .session = session, .text = std::move(text)});
}

}  // namespace millpond::fixd
