// Which session a new connection is for, and whether it may log on to it.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "listener.hpp"
#include "store_opening.hpp"

namespace millpond::engine {
namespace {

constexpr std::size_t kLongestNewId = 64;

bool is_plain(std::string_view id) {
    return !id.empty() && id.size() <= kLongestNewId && id.front() != '.' && std::ranges::all_of(id, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
}

/// A field that a guard decides by and that is repeated; kInvalid if there is none. The session would reject such a
/// Logon, but only after the guard has acted on it.
fix::Tag repeated_credential(const fix::Message& logon) {
    for (const auto tag : {fix::tag::kUsername, fix::tag::kPassword, fix::tag::kNewPassword}) {
        if (std::ranges::count(logon.fields(), tag, &fix::Field::tag) > 1) return tag;
    }
    return fix::tag::kInvalid;
}

}  // namespace

void Acceptor::Listener::identify(Stranger& stranger, core::Moment now) {
    const auto bytes = stranger.input.filled();
    if (bytes.empty() || stranger.asked) return;
    const auto frame = fix::next_frame(bytes, options_.first_message_bytes);
    if (!frame && frame.error().error == fix::FrameError::incomplete) {
        if (!stranger.input.room().empty()) return;
        return turn_away(stranger, {.reason = RefusalReason::garbled, .detail = "too long"}, now);
    }
    const auto message = frame ? parser_.parse(*frame) : std::unexpected(frame.error().error);
    if (!message) return turn_away(stranger, {.reason = RefusalReason::garbled}, now);
    if (message->msg_type() != "A") {
        return turn_away(
            stranger, {.reason = RefusalReason::not_a_logon, .tag = fix::tag::kMsgType, .detail = message->msg_type()},
            now);
    }
    if (const auto gate = gate_of(*message, stranger.connection->peer()); gate.guard != nullptr) {
        if (!gate.is_allowed) {
            return turn_away(stranger, {.reason = RefusalReason::not_allowed, .detail = kNotOfSession}, now);
        }
        if (const auto twice = repeated_credential(*message); twice != fix::tag::kInvalid) {
            return turn_away(
                stranger, {.reason = RefusalReason::invalid_logon, .tag = twice, .detail = "the field is there twice"},
                now);
        }
        // The guard may have been replaced since it was asked.
        if (stranger.guard != gate.guard) return ask(stranger, gate.guard, *message);
    }
    auto host = roster_.claim(*message);
    if (!host && host.error() == Roster::Refusal::unknown) {
        if (const auto made = make_by_template(*message, now); !made) return turn_away(stranger, made.error(), now);
        host = roster_.claim(*message);
    }
    if (host) {
        hand_over(stranger, *host, now);
    } else if (const auto busy = roster_.named_by(*message)) {
        hand_to_busy(stranger, busy, now);
    }
}

auto Acceptor::Listener::gate_of(const fix::Message& logon, const net::SocketAddress& peer) const -> Gate {
    if (const auto host = roster_.named_by(logon)) return {host->guard(), host->allowed().contains(peer)};
    const auto from = std::ranges::find_if(templates_, [&](const Template& one) { return serves(one, logon); });
    if (from == templates_.end()) return {};
    return {from->model.guard, from->model.allowed.contains(peer)};
}

void Acceptor::Listener::ask(Stranger& stranger, const std::shared_ptr<LogonGuard>& guard, const fix::Message& logon) {
    const auto text = [&](fix::Tag tag) { return std::string{logon.text(tag).value_or("")}; };
    stranger.number = ++asked_;
    stranger.asked = true;
    stranger.guard = guard;
    // Bytes after the Logon wait in the socket.
    stranger.connection->watch_readable(false);
    guard->check({.comp_id = text(fix::tag::kSenderCompId),
                  .username = text(fix::tag::kUsername),
                  .password = text(fix::tag::kPassword),
                  .new_password = text(fix::tag::kNewPassword),
                  .peer = stranger.connection->peer(),
                  .certificate_names = stranger.connection->transport().certificate_names(),
                  .password_changed = stranger.password_changed},
                 [answers = answers_, number = stranger.number](LogonAnswer answer) {
                     answers->add(number, std::move(answer));
                 });
}

void Acceptor::Listener::take_answers(core::Moment now) {
    for (const auto& [number, answer] : answers_->take()) {
        const auto found = std::ranges::find_if(
            strangers_, [&](const auto& one) { return one->asked && one->number == number && one->connection; });
        if (found == strangers_.end()) continue;  // it has ended meanwhile
        auto& stranger = **found;
        stranger.asked = false;
        stranger.password_changed = stranger.password_changed || answer.password_changed;
        if (answer.refusal.empty()) {
            identify(stranger, now);
        } else {
            turn_away(stranger, {.reason = RefusalReason::not_admitted, .detail = answer.refusal}, now);
        }
    }
}

void Acceptor::Listener::connect(Stranger& stranger, SessionHost& host, core::Moment now) {
    if (stranger.password_changed) host.confirm_new_password();
    host.connect(std::move(stranger.connection), stranger.input, now);
}

void Acceptor::Listener::hand_over(Stranger& stranger, const std::shared_ptr<SessionHost>& host, core::Moment now) {
    stranger.connection->unwatch();
    if (&host->io() == io_) return connect(stranger, *host, now);
    auto moved = std::make_shared<Stranger>(std::move(stranger));
    host->io().post([host, moved] { connect(*moved, *host, host->io().now()); });
}

void Acceptor::Listener::hand_to_busy(Stranger& stranger, const std::shared_ptr<SessionHost>& host, core::Moment now) {
    if (&host->io() == io_) {
        if (!host->claim_after_reading(now)) return turn_away(stranger, {.reason = RefusalReason::duplicate}, now);
        return hand_over(stranger, host, now);
    }
    stranger.connection->unwatch();
    auto moved = std::make_shared<Stranger>(std::move(stranger));
    host->io().post([host, moved, weak = weak_from_this()] {
        const auto then = host->io().now();
        if (host->claim_after_reading(then)) return connect(*moved, *host, then);
        const auto listener = weak.lock();
        if (listener == nullptr) return;
        listener->io().post([moved, weak] {
            const auto self = weak.lock();
            if (self == nullptr || self->ended_) return;
            moved->connection->watch(*self->io_, *self);
            self->turn_away(*moved, {.reason = RefusalReason::duplicate}, self->io_->now());
        });
    });
}

bool Acceptor::Listener::serves(const Template& from, const fix::Message& logon) {
    const auto& config = from.model.config;
    return fix::begin_string(config.version) == logon.begin_string() &&
           logon.text(fix::tag::kTargetCompId) == config.sender_comp_id &&
           is_plain(logon.text(fix::tag::kSenderCompId).value_or(""));
}

fix::Tag Acceptor::Listener::fault_of(const fix::Message& logon) const {
    for (const auto& from : templates_) {
        const auto& config = from.model.config;
        if (logon.text(fix::tag::kTargetCompId) != config.sender_comp_id) continue;
        if (fix::begin_string(config.version) != logon.begin_string()) return fix::tag::kBeginString;
        return fix::tag::kSenderCompId;  // no template takes an id of this form
    }
    return roster_.fault_of(logon);
}

std::expected<void, Refusal> Acceptor::Listener::make_by_template(const fix::Message& message, core::Moment now) {
    const auto id = message.text(fix::tag::kSenderCompId).value_or("");
    const auto fault = fault_of(message);
    Refusal refusal{
        .reason = RefusalReason::unknown_session,
        .tag = fault,
        .detail = fault == fix::tag::kBeginString ? message.begin_string() : message.text(fault).value_or("")};
    for (auto& from : templates_) {
        if (!serves(from, message)) continue;
        auto session = from.model;
        if (from.made.size() >= from.most && !reclaim(from, now)) {
            refusal = {.reason = RefusalReason::full, .detail = "max_dynamic"};
            continue;
        }
        session.config.role = fix::Role::acceptor;
        session.config.target_comp_id = id;
        if (!session.store.file.empty()) session.store.file /= std::string{id} + ".store";
        if (from.is_disabled && from.is_disabled(identity_of(session.config).name())) session.enabled = false;
        try {
            auto host = std::make_shared<SessionHost>(std::move(session), *from.application, *io_);
            begin(*host, this);
            from.made.push_back(host);
            roster_.add(std::move(host));
        } catch (const std::exception& error) {
            fault_text_ = error.what();
            refusal = {.reason = RefusalReason::no_store, .detail = fault_text_};
            continue;
        }
        return {};
    }
    return std::unexpected(refusal);
}

bool Acceptor::Listener::reclaim(Template& from, core::Moment now) {
    SessionHost* oldest = nullptr;
    for (const auto& host : from.made) {
        const bool loses_nothing = host->file() != nullptr || host->schedule_is_over(now.utc_ns);
        if (host->claimed() || !host->senders().empty() || !loses_nothing) continue;
        if (oldest == nullptr || host->last_connected_utc_ns() < oldest->last_connected_utc_ns()) oldest = host.get();
    }
    if (oldest == nullptr) return false;
    counters_.reclaimed.add();
    if (options_.observer != nullptr) options_.observer->on_reclaimed(oldest->name());
    remove(*oldest);
    std::erase_if(from.made, [&](const auto& host) { return host.get() == oldest; });
    return true;
}

}  // namespace millpond::engine
