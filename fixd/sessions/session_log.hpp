#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/application.hpp>
#include <millpond/engine/sent_observer.hpp>
#include <millpond/fix/secret_mask.hpp>

#include "fixd/drop_copy/copy_routes.hpp"
#include "fixd/sessions/session_events.hpp"
#include "fixd/sessions/session_records.hpp"
#include "fixd/settings/session_settings.hpp"
#include "service/log.hpp"

namespace millpond::fixd {

/// Logs the connections of an acceptor that found no session.
class AcceptorLog final : public engine::AcceptorObserver {
public:
    /// quiet: only errors.
    AcceptorLog(std::string acceptor, service::Log& log, bool quiet)
        : acceptor_(std::move(acceptor)), log_(&log), quiet_(quiet) {}

    void on_refused(const engine::Refusal& why) override;
    void on_reclaimed(const std::string& session) override;

private:
    std::string acceptor_;
    service::Log* log_;
    bool quiet_;
};

/// Wraps an application: logs the events of its sessions, records their last errors and latencies, and passes messages
/// to drop copies.
class SessionLog final : public engine::Application, public engine::SentObserver {
public:
    /// quiet: log only errors of logons, logouts and closed connections. records: outlives this, as `events`. secrets:
    /// fields whose values are not logged.
    SessionLog(engine::Application& inner, service::Log& log, SessionRecords& records, SessionEvents& events,
               bool quiet, const SessionSettings& settings, fix::SecretTags secrets)
        : inner_(&inner),
          log_(&log),
          records_(&records),
          events_(&events),
          quiet_(quiet),
          store_(is_in_memory(settings) ? std::string{} : settings.store.file.string()),
          max_age_seconds_(static_cast<std::int64_t>(settings.resend_max_age_seconds)),
          secrets_(std::move(secrets)) {}

    /// Sets the drop copies. On the I/O thread of the sessions, once they exist.
    void set_copies(std::vector<CopyRoutes::Route> routes, std::size_t producer) {
        copies_.set(std::move(routes), producer);
    }

    void on_sent(engine::SessionLink& link, std::string_view message) noexcept override {
        copies_.on_sent(link.session(), message);
    }
    bool may_log_on(engine::SessionLink& link, const fix::Message& logon) override;
    void on_send_admin(engine::SessionLink& link, fix::AdminDraft& draft) override;
    void on_logon(engine::SessionLink& link) override;
    void on_logout(engine::SessionLink& link, std::string_view text) override;
    void on_refused(engine::SessionLink& link, const engine::Refusal& why) override;
    void on_closed(engine::SessionLink& link, engine::Closed reason) override;
    fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override;
    bool may_resend(engine::SessionLink& link, const fix::Message& message) override;
    void on_reject(engine::SessionLink& link, const fix::Message& reject) override;
    void on_rejected(engine::SessionLink& link, const fix::RejectedMessage& rejected) override;
    void on_heartbeat_changed(engine::SessionLink& link, std::int64_t seconds) override;
    void on_history_lost(engine::SessionLink& link, const fix::LostHistory& lost) override;

private:
    [[nodiscard]] bool is_too_old(const fix::Message& message, std::int64_t now_ns) const;
    [[nodiscard]] bool was_refused(const engine::SessionLink& link);
    /// Logs and adds an event.
    void log(service::EventKind kind, service::Severity severity, engine::SessionLink& link, std::string_view what,
             std::string_view detail);

    void add_gap(engine::SessionLink& link, const fix::AdminDraft& request);
    void note_error(engine::SessionLink& link, std::string text);

    engine::Application* inner_;
    CopyRoutes copies_;
    service::Log* log_;
    SessionRecords* records_;
    SessionEvents* events_;
    bool quiet_;
    std::string store_;             // file, or folder of a template; empty: in memory
    std::int64_t max_age_seconds_;  // of resent messages; 0: any
    fix::SecretTags secrets_;
    std::int64_t logged_ns_{0};  // when old messages were last logged; used on the I/O thread
    std::unordered_map<const engine::SessionLink*, std::shared_ptr<SessionRecord>>
        logged_on_;  // used on the I/O thread
    std::mutex lock_;
    std::set<const engine::SessionLink*> refused_;  // until on_closed
};

}  // namespace millpond::fixd
