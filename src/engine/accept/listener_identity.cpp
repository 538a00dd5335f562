// Determines which session a new connection is for, and whether it may log on to it.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/fix/session_ids.hpp>
#include <millpond/fix/store_identity.hpp>

#include "src/engine/accept/listener.hpp"

namespace millpond::engine {
namespace {

constexpr std::size_t kMaxNewId = 64;

bool is_plain(std::string_view id) {
    return !id.empty() && id.size() <= kMaxNewId && id.front() != '.' && std::ranges::all_of(id, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
}

/// A repeated field that a guard checks; kInvalid if there is none. The session would reject such a Logon, but only
/// after the guard has used it.
fix::Tag repeated_credential(const fix::Message& logon) {
    for (const auto tag : {fix::tag::kUsername, fix::tag::kPassword, fix::tag::kNewPassword}) {
        if (std::ranges::count(logon.fields(), tag, &fix::Field::tag) > 1) return tag;
    }
    return fix::tag::kInvalid;
}

}  // namespace

void Acceptor::Listener::identify(PendingConnection& pending, core::Moment now) {
    const auto bytes = pending.input.filled();
    if (bytes.empty() || pending.asked) return;
    const auto frame = fix::next_frame(bytes, options_.first_message_bytes);
    if (!frame && frame.error().error == fix::FrameError::incomplete) {
        if (!pending.input.free_space().empty()) return;
        return reject(pending, {.reason = RefusalReason::garbled, .detail = "too long"}, now);
    }
    const auto message = frame ? parser_.parse(*frame) : std::unexpected(frame.error().error);
    if (!message) return reject(pending, {.reason = RefusalReason::garbled}, now);
    if (message->msg_type() != "A") {
        return reject(pending,
                      {.reason = RefusalReason::not_a_logon, .tag = fix::tag::kMsgType, .detail = message->msg_type()},
                      now);
    }
    if (const auto access = access_of(*message, pending.connection->peer()); access.guard != nullptr) {
        if (!access.is_allowed) {
            return reject(pending, {.reason = RefusalReason::not_allowed, .detail = kNotOfSession}, now);
        }
        if (const auto twice = repeated_credential(*message); twice != fix::tag::kInvalid) {
            return reject(pending,
                          {.reason = RefusalReason::invalid_logon, .tag = twice, .detail = "the field is there twice"},
                          now);
        }
        // The guard may have been replaced since it was asked.
        if (pending.guard != access.guard) return ask(pending, access.guard, *message);
    }
    if (session_of(*message) == nullptr) {
        if (const auto made = make_by_template(*message, now); !made) return reject(pending, made.error(), now);
    }
    if (const auto host = roster_.claim(*message)) {
        hand_to_session(pending, *host, now);
    } else if (const auto busy = roster_.named_by(*message)) {
        hand_to_connected(pending, busy, now);
    }
}

std::shared_ptr<SessionHost> Acceptor::Listener::session_of(const fix::Message& logon) const {
    auto host = roster_.named_by(logon);
    const auto from = std::ranges::find_if(templates_, [&](const Template& one) { return accepts(one, logon); });
    const bool is_by_template =
        host != nullptr && from != templates_.end() && fix::sub_ids(from->model.config) > fix::sub_ids(host->config());
    return is_by_template ? nullptr : host;
}

auto Acceptor::Listener::access_of(const fix::Message& logon, const net::SocketAddress& peer) const -> Access {
    if (const auto host = session_of(logon)) return {host->guard(), host->allowed().contains(peer)};
    const auto from = std::ranges::find_if(templates_, [&](const Template& one) { return accepts(one, logon); });
    if (from == templates_.end()) return {};
    return {from->model.guard, from->model.allowed.contains(peer)};
}

void Acceptor::Listener::ask(PendingConnection& pending, const std::shared_ptr<LogonGuard>& guard,
                             const fix::Message& logon) {
    const auto text = [&](fix::Tag tag) { return std::string{logon.text(tag).value_or("")}; };
    pending.number = ++questions_;
    pending.asked = true;
    pending.guard = guard;
    // Bytes after the Logon stay in the socket meanwhile.
    pending.connection->watch_readable(false);
    guard->check(
        {.comp_id = text(fix::tag::kSenderCompId),
         .username = text(fix::tag::kUsername),
         .password = text(fix::tag::kPassword),
         .new_password = text(fix::tag::kNewPassword),
         .peer = pending.connection->peer(),
         .certificate_names = pending.connection->transport().certificate_names(),
         .password_changed = pending.password_changed},
        [answers = answers_, number = pending.number](LogonAnswer answer) { answers->add(number, std::move(answer)); });
}

void Acceptor::Listener::apply_answers(core::Moment now) {
    for (const auto& [number, answer] : answers_->drain()) {
        const auto found = std::ranges::find_if(
            pending_, [&](const auto& one) { return one->asked && one->number == number && one->connection; });
        if (found == pending_.end()) continue;  // the connection has ended
        auto& pending = **found;
        pending.asked = false;
        pending.password_changed = pending.password_changed || answer.password_changed;
        if (answer.refusal.empty()) {
            identify(pending, now);
        } else {
            reject(pending, {.reason = RefusalReason::not_admitted, .detail = answer.refusal}, now);
        }
    }
}

void Acceptor::Listener::connect(PendingConnection& pending, SessionHost& host, core::Moment now) {
    if (pending.password_changed) host.confirm_new_password();
    host.connect(std::move(pending.connection), pending.input, now);
}

void Acceptor::Listener::hand_to_session(PendingConnection& pending, const std::shared_ptr<SessionHost>& host,
                                         core::Moment now) {
    pending.connection->unwatch();
    if (&host->io() == io_) return connect(pending, *host, now);
    auto moved = std::make_shared<PendingConnection>(std::move(pending));
    host->io().post([host, moved] { connect(*moved, *host, host->io().loop().now()); });
}

void Acceptor::Listener::hand_to_connected(PendingConnection& pending, const std::shared_ptr<SessionHost>& host,
                                           core::Moment now) {
    if (&host->io() == io_) {
        if (!host->claim_after_reading(now)) return reject(pending, {.reason = RefusalReason::duplicate}, now);
        return hand_to_session(pending, host, now);
    }
    pending.connection->unwatch();
    auto moved = std::make_shared<PendingConnection>(std::move(pending));
    host->io().post([host, moved, weak = weak_from_this()] {
        const auto then = host->io().loop().now();
        if (host->claim_after_reading(then)) return connect(*moved, *host, then);
        const auto listener = weak.lock();
        if (listener == nullptr) return;
        listener->io().post([moved, weak] {
            const auto self = weak.lock();
            if (self == nullptr || self->ended_) return;
            moved->connection->watch(*self->loop_, *self);
            self->reject(*moved, {.reason = RefusalReason::duplicate}, self->loop_->now());
        });
    });
}

bool Acceptor::Listener::accepts(const Template& from, const fix::Message& logon) {
    const auto& config = from.model.config;
    return fix::begin_string(config.version) == logon.begin_string() &&
           logon.text(fix::tag::kTargetCompId) == config.sender_comp_id &&
           fix::wrong_sub_id(logon, config) == fix::tag::kInvalid &&
           is_plain(logon.text(fix::tag::kSenderCompId).value_or(""));
}

fix::Tag Acceptor::Listener::fault_of(const fix::Message& logon) const {
    for (const auto& from : templates_) {
        const auto& config = from.model.config;
        if (logon.text(fix::tag::kTargetCompId) != config.sender_comp_id) continue;
        if (fix::begin_string(config.version) != logon.begin_string()) return fix::tag::kBeginString;
        if (const auto wrong = fix::wrong_sub_id(logon, config); wrong != fix::tag::kInvalid) return wrong;
        return fix::tag::kSenderCompId;  // no template accepts an id of this form
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
    const auto known = roster_.named_by(message);
    for (auto& from : templates_) {
        if (!accepts(from, message)) continue;
        // Less specific templates would create the session that exists.
        if (known != nullptr && fix::sub_ids(from.model.config) <= fix::sub_ids(known->config())) continue;
        auto session = from.model;
        if (from.made.size() >= from.max_sessions && !reclaim(from, now)) {
            refusal = {.reason = RefusalReason::full, .detail = "max_dynamic"};
            continue;
        }
        session.config.role = fix::Role::acceptor;
        session.config.target_comp_id = id;
        if (!session.store.file.empty()) session.store.file /= std::string{id} + ".store";
        if (from.is_disabled && from.is_disabled(fix::StoreIdentity::of(session.config).name()))
            session.enabled = false;
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
