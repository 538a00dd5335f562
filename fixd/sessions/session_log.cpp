#include "fixd/sessions/session_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <millpond/core/clock.hpp>

namespace millpond::fixd {
namespace {

constexpr std::size_t kLongestDetail = 160;
constexpr std::int64_t kSecondNs = 1'000'000'000;

/// Text from a peer, made safe for the log.
std::string printable(std::string_view text) {
    std::string line{text.substr(0, kLongestDetail)};
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

/// What to do if the numbers of both sides do not fit; otherwise empty.
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
              fmt::format("{}: removed to make room: it is disconnected", session));
}

bool SessionLog::may_log_on(engine::SessionLink& link, const fix::Message& logon) {
    if (tap_ != nullptr) link.handle().set_tap(tap_);
    return inner_->may_log_on(link, logon);
}

void SessionLog::on_send_admin(engine::SessionLink& link, fix::AdminDraft& draft) {
    inner_->on_send_admin(link, draft);
}

void SessionLog::note_error(engine::SessionLink& link, std::string text) {
    records_->of(link.handle().name())->set_error(std::move(text), core::utc_nanos());
}

void SessionLog::on_logon(engine::SessionLink& link) {
    logged_on_[&link] = records_->of(link.handle().name());
    say(service::Severity::info, link, "logged on", link.peer().to_string());
    inner_->on_logon(link);
}

void SessionLog::on_logout(engine::SessionLink& link, std::string_view text) {
    say(service::Severity::info, link, "logged out", printable(text));
    inner_->on_logout(link, text);
}

void SessionLog::on_refused(engine::SessionLink& link, const engine::Refusal& why) {
    const auto& session = link.handle().name();
    auto cause = fmt::format("{}.not logged on.{}", session, name(why.reason));
    if (why.reason == engine::RefusalReason::unreachable) {
        cause += "." + (why.peer.empty() ? std::string{why.detail} : why.peer.to_string());  // each host has its line
    } else {
        const std::lock_guard guard{lock_};
        refused_.insert(&link);
    }
    log_->say(service::Severity::warning, cause,
              fmt::format("{}: not logged on: {}{}", session, line_of(why), advice_on(why, store_)));
    note_error(link, "not logged on: " + line_of(why));
    inner_->on_refused(link, why);
}

void SessionLog::on_closed(engine::SessionLink& link, engine::Closed reason) {
    const bool expected = reason == engine::Closed::logged_out || reason == engine::Closed::shut_down;
    if (!was_refused(link)) {
        say(expected ? service::Severity::info : service::Severity::warning, link, "closed", name(reason));
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
    // There may be thousands at once.
    if (now_ns - said_ns_ > kSecondNs) {
        said_ns_ = now_ns;
        say(service::Severity::warning, link, "not resent",
            fmt::format("message {} and others are older than {} s; the counterparty gets gap fills in their place",
                        message.text(fix::tag::kMsgSeqNum).value_or("?"), max_age_seconds_));
    }
    return false;
}

bool SessionLog::is_too_old(const fix::Message& message, std::int64_t now_ns) const {
    if (max_age_seconds_ == 0) return false;
    const auto is_type = [&](const std::string& type) { return type == "*" || type == message.msg_type(); };
    if (std::ranges::none_of(max_age_types_, is_type)) return false;
    const auto sent = message.utc_timestamp_ns(fix::tag::kSendingTime);
    return sent && now_ns - *sent > max_age_seconds_ * kSecondNs;
}

void SessionLog::on_reject(engine::SessionLink& link, const fix::Message& reject) {
    const auto text = printable(reject.text(fix::tag::kText).value_or(""));
    say(service::Severity::warning, link, "rejected by the peer", text);
    note_error(link, "rejected by the peer: " + text);
    inner_->on_reject(link, reject);
}

void SessionLog::on_history_lost(engine::SessionLink& link, const fix::LostHistory& lost) {
    const auto& session = link.handle().name();
    const auto& all = link.session().counters();
    // With totals, so that no loss is hidden when the rate limit suppresses a line.
    log_->say(service::Severity::warning, session + ".history lost",
              fmt::format("{}: history lost: of the messages {} to {}, {} are not in the store; the counterparty "
                          "got {} in their place (since the start: {} messages, {} gap fills, {} ResendRequests)",
                          session, lost.first, lost.last, lost.messages,
                          lost.gap_fills == 1 ? "a gap fill" : fmt::format("{} gap fills", lost.gap_fills),
                          all.lost.read(), all.lost_fills.read(), all.lost_requests.read()));
    inner_->on_history_lost(link, lost);
}

bool SessionLog::was_refused(const engine::SessionLink& link) {
    const std::lock_guard guard{lock_};
    return refused_.erase(&link) != 0;
}

void SessionLog::say(service::Severity severity, engine::SessionLink& link, std::string_view what,
                     std::string_view detail) {
    if (quiet_ && severity == service::Severity::info) return;
    const auto& session = link.handle().name();
    log_->say(severity, fmt::format("{}.{}", session, what),
              fmt::format("{}: {}{}{}", session, what, detail.empty() ? "" : ": ", detail));
}

}  // namespace millpond::fixd
