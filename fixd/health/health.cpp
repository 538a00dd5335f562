#include "fixd/health/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <millpond/core/json_string.hpp>
#include <millpond/fix/utc_time.hpp>
#include <millpond/metrics/prometheus_text.hpp>

namespace millpond::fixd {
namespace {

using core::json_string;

constexpr std::uint64_t kSlowConsumerBytes = 64ULL * 1024;

struct Words {
    std::string_view stage;
    service::Severity severity;
    std::string_view meaning;
    std::string_view advice;
};

const Words& words_of(Finding::Kind kind) noexcept {
    using enum service::Severity;
    static constexpr Words kWords[] = {
        {"not_connected", error, "The session has no connection that is logged on, and its schedule is open.",
         "The last error says why. Check host, port, certificate, CompIDs and password with the counterparty."},
        {"copies_lost", warning,
         "Messages of other sessions were not mirrored to this one: they did not fit into the queue or the store, "
         "could not be encoded, or were forgotten by a reset of its numbers.",
         "Send its counterparty the missing messages another way. A larger `keep_bytes` of the session keeps more."},
        {"copies_unusable", warning,
         "A file in which an earlier engine left copies for this session is damaged or cannot be opened. It stays.",
         "The log has its name and the reason. The stores of the sources have the messages; remove the file then."},
        {"history_lost", warning,
         "The counterparty asked for messages that are no longer in the store, and got gap fills in their place.",
         "Reconcile the missed messages with the counterparty. A store file with a larger `keep_bytes` "
         "keeps more."},
        {"store_damaged", warning,
         "Messages in the session's store are not as they were stored: they are not resent, and gap fills go in their "
         "place.",
         "`millpond fix store FILE --verify` lists them. Check the disk and the memory, and reconcile these messages "
         "with the counterparty."},
        {"store_failed", warning,
         "The next part of the session's store could not be prepared: the oldest messages are removed for new ones.",
         "The log has the reason, such as a full disk. Free space, and check whether the counterparty requested old "
         "messages."},
        {"clock_set_back", warning,
         "The clock shows a time before the last reset of the numbers, in an earlier run of the schedule. The numbers "
         "stay: a step back of less than a day does not reset them.",
         "Check the clock (NTP) and which numbers the counterparty expects. `millpond fix sessions reset` resets "
         "them."},
        {"raw_log_lost", warning,
         "Pieces of the byte stream were lost because the raw log's ring was full, or could not be written.",
         "Check for a slow or full disk."},
        {"superseded", error, "Another machine has taken over the session: it does not run here.",
         "With [standby] this engine becomes the other one's standby in a moment. Without, restart it with that table, "
         "or take the session back by `promote --force`."},
        {"standby_stopped", error, "The session has stopped: its standby is lost, or was never there.",
         "The text says why. Bring the standby back; `on_standby_loss = \"continue\"` and a reload run it without."},
        {"standby_lost", warning, "The session goes on without its standby.",
         "The text says why. A standby that is promoted now lacks what was sent meanwhile."},
        {"standby_gaps", warning, "The copy of the store lacks messages that the counterparty may have.",
         "It is filled when its primary is connected. Do not promote it before, unless the primary is gone for good."},
        {"no_primary", warning, "The primary of this copy is not connected.",
         "Look at the primary and at the network between. If it is gone: `millpond fix sessions promote`. If it runs "
         "without this standby now, its copy here is old: remove the copy's store."},
        {"standby_filling", info, "The standby gets what it lacks.", "Nothing, unless it lasts."},
        {"rejected", warning,
         "Messages of the counterparty were rejected, or are too long to be read: the application does not have them.",
         "Settle the messages with the counterparty. If they are right, correct the session's `dictionary`, relax its "
         "checks, or raise `max_message_bytes`. The finding ends after 15 minutes without another."},
        {"slow_consumer", warning, "The counterparty reads more slowly than the session sends.",
         "Beyond `pending_bytes`, or after 30 seconds without progress, its connection is closed."},
        {"resend", info, "Messages are being resent, or requested messages have not arrived.",
         "No action, unless it lasts."},
        {"disabled", info, "Logons to this session are refused.",
         "Run `millpond fix sessions enable`, or set `enabled = true` in the configuration and reload."},
        {"exposed", warning, "Anyone who reaches the address can read it, or the token on its way.",
         "Set `token_file` and `tls_certificate` with `tls_key`, or listen on 127.0.0.1."},
    };
    return kWords[static_cast<std::size_t>(kind)];
}

std::string_view name(service::Severity severity) noexcept {
    switch (severity) {
        case service::Severity::error: return "error";
        case service::Severity::warning: return "warning";
        default: return "info";
    }
}

std::string time_text(std::int64_t utc_ns) {
    char time[fix::kMaxTimestampChars];
    return {time, fix::write_utc_timestamp(time, utc_ns, fix::TimePrecision::seconds)};
}

std::string damaged_text(std::uint64_t times) {
    return fmt::format("damaged messages found in the store since startup: {}", times);
}

template <class Add>
void find_standby(const engine::StandbyStatus& standby, const Add& add) {
    using State = engine::StandbyStatus::State;
    const auto why = [&](std::string_view text) {
        return standby.error.empty() ? std::string{text} : fmt::format("{}: {}", text, standby.error);
    };
    if (standby.state == State::superseded) add(Finding::Kind::superseded, why("another machine has taken over"));
    if (standby.state == State::filling) {
        add(Finding::Kind::standby_filling, fmt::format("the standby lacks {} messages", standby.behind));
    }
    if (standby.state == State::lost || (standby.state == State::connecting && standby.losses != 0)) {
        add(standby.goes_on ? Finding::Kind::standby_lost : Finding::Kind::standby_stopped, why("the standby is lost"));
    }
}

std::vector<Finding> findings_of(const std::vector<engine::ReplicaStatus>& replicas) {
    std::vector<Finding> found;
    for (const auto& replica : replicas) {
        if (replica.is_promoted) continue;
        const auto add = [&](Finding::Kind kind, std::string text) {
            found.push_back({.kind = kind, .of = fmt::format("session '{}'", replica.name), .text = std::move(text)});
        };
        if (!replica.is_whole) add(Finding::Kind::standby_gaps, "the copy is not whole");
        if (replica.peer.empty()) {
            auto text = replica.heard_utc_ns == 0 ? std::string{"no primary was ever connected"}
                                                  : fmt::format("no primary is connected, the copy is of {} UTC",
                                                                time_text(replica.heard_utc_ns));
            if (!replica.error.empty()) text += ": " + replica.error;
            add(Finding::Kind::no_primary, std::move(text));
        }
        if (replica.store_damaged != 0) add(Finding::Kind::store_damaged, damaged_text(replica.store_damaged));
        if (replica.store_failures != 0) {
            add(Finding::Kind::store_failed,
                fmt::format("the store could not be extended (attempts since startup: {})", replica.store_failures));
        }
    }
    return found;
}

void find_in(const SessionReport& session, std::vector<Finding>& found) {
    const auto& status = session.status;
    const auto add = [&](Finding::Kind kind, std::string text) {
        found.push_back({.kind = kind, .of = fmt::format("session '{}'", status.name), .text = std::move(text)});
    };
    const bool is_active = status.state == fix::Session::State::active;
    if (!status.enabled) {
        add(Finding::Kind::disabled, "it is disabled");
    } else if (status.role == fix::Role::initiator && status.open && !is_active) {
        add(Finding::Kind::not_connected,
            session.error.utc_ns != 0 ? session.error.text : std::string{"it is not logged on"});
    }
    if (session.drop_copy && session.drop_copy->status.lost() != 0) {
        add(Finding::Kind::copies_lost,
            fmt::format("{} copies were lost since the start", session.drop_copy->status.lost()));
    }
    if (session.drop_copy && session.drop_copy->status.unusable != 0) {
        add(Finding::Kind::copies_unusable,
            fmt::format("{} files of copies cannot be used", session.drop_copy->status.unusable));
    }
    if (status.lost != 0) {
        add(Finding::Kind::history_lost,
            fmt::format("{} requested messages were not in the store, or damaged there", status.lost));
    }
    if (status.store_damaged != 0) {
        add(Finding::Kind::store_damaged, damaged_text(status.store_damaged));
    }
    if (status.store_failures != 0) {
        add(Finding::Kind::store_failed,
            fmt::format("the store could not be extended (attempts since startup: {})", status.store_failures));
    }
    if (status.set_back_ns != 0) {
        add(Finding::Kind::clock_set_back,
            fmt::format("the clock is {} s before the last reset of its numbers", status.set_back_ns / 1'000'000'000));
    }
    for (const auto& rejection : session.rejections) {
        add(Finding::Kind::rejected, fmt::format("{} rejected, the newest: {}", rejection.messages, rejection.newest));
        found.back().since_utc_ns = rejection.first_utc_ns;
    }
    if (status.pending_bytes > kSlowConsumerBytes) {
        add(Finding::Kind::slow_consumer, fmt::format("{} bytes are unread", status.pending_bytes));
    }
    find_standby(status.standby, add);
    if (status.resending || status.awaits_resend) {
        add(Finding::Kind::resend, status.resending ? "messages are being resent" : "missing messages were requested");
    }
}

std::string or_null(std::int64_t utc_ns) { return utc_ns == 0 ? "null" : fmt::format("{}", utc_ns); }

std::string json_of(const engine::StandbyStatus& standby) {
    if (standby.state == engine::StandbyStatus::State::off) return "null";
    return fmt::format(
        R"({{"state":"{}","mode":"{}","on_loss":"{}","behind":{},"losses":{},"skipped":{},"epoch":{},"error":{}}})",
        engine::name(standby.state), standby.mode == engine::StandbyMode::received ? "received" : "none",
        standby.on_loss == engine::OnStandbyLoss::stop ? "stop" : "continue", standby.behind, standby.losses,
        standby.skipped, standby.epoch, json_string(standby.error));
}

template <class List, class Text>
std::string list_of(const List& list, const Text& text) {
    return fmt::format("[{}]", fmt::join(std::views::transform(list, text), ","));
}

std::string json_of(const std::optional<DropCopies::Report>& copy) {
    if (!copy) return "null";
    const auto& status = copy->status;
    return fmt::format(
        R"({{"sources":{},"types":{},"offered":{},"recovered":{},"mirrored":{},"waiting":{},"queue_full":{},)"
        R"("store_full":{},"not_encoded":{},"wrong_version":{},"abandoned":{},"discarded":{},"overwritten":{},)"
        R"("unusable":{}}})",
        list_of(copy->config.sources, [](const std::string& name) { return json_string(name); }),
        list_of(copy->config.types, [](const std::string& type) { return json_string(type); }), status.offered,
        status.recovered, status.mirrored, status.waiting, status.queue_full, status.store_full, status.not_encoded,
        status.wrong_version, status.abandoned, status.discarded, status.overwritten, status.unusable);
}

std::string json_of(const engine::ReplicaStatus& replica) {
    return fmt::format(
        R"({{"name":{},"peer":{},"whole":{},"filled":{},"promoted":{},"epoch":{},"next_sender":{},"next_target":{},)"
        R"("records":{},"refused":{},"heard":{},"error":{}}})",
        json_string(replica.name), json_string(replica.peer), replica.is_whole, replica.is_filled, replica.is_promoted,
        replica.epoch, replica.next_sender, replica.next_target, replica.records, replica.refused,
        or_null(replica.heard_utc_ns), json_string(replica.error));
}

std::string json_of(const Finding& finding) {
    const auto& words = words_of(finding.kind);
    return fmt::format(R"({{"stage":"{}","severity":"{}","of":{},"since":{},"text":{},"meaning":{},"advice":{}}})",
                       words.stage, name(words.severity), json_string(finding.of), finding.since_utc_ns,
                       json_string(finding.text), json_string(words.meaning), json_string(words.advice));
}

}  // namespace

std::string session_json(const SessionReport& session) {
    const auto& status = session.status;
    const auto& latency = session.latency;
    return fmt::format(
        R"({{"name":{},"role":"{}","state":"{}","enabled":{},"open":{},"peer":{},"next_sender":{},"next_target":{},)"
        R"("received":{},"sent":{},"resent":{},"rejected":{},"peer_rejects":{},"gaps":{},"pending_bytes":{},"resending":{},"awaits_resend":{},)"
        R"("history_lost":{},"store_damaged":{},"store_failures":{},"connections":{},"connected":{},"last_received":{},"last_sent":{},"last_closed":"{}",)"
        R"("standby":{},"last_error":{},"last_error_at":{},"latency":{{"count":{},"p50":{},"p90":{},"p99":{},"max":{}}},)"
        R"("drop_copy":{}}})",
        json_string(status.name), status.role == fix::Role::acceptor ? "acceptor" : "initiator",
        engine::name(status.state), status.enabled, status.open, json_string(status.peer), status.next_sender,
        status.next_target, status.received, status.sent, status.resent, status.rejected, session.peer_rejects.count,
        session.gaps.count, status.pending_bytes, status.resending, status.awaits_resend, status.lost,
        status.store_damaged, status.store_failures, status.connections, or_null(status.connected_utc_ns),
        or_null(status.last_received_utc_ns), or_null(status.last_sent_utc_ns), engine::name(status.last_closed),
        json_of(status.standby), session.error.utc_ns == 0 ? "null" : json_string(session.error.text),
        or_null(session.error.utc_ns), latency.count, latency.p50, latency.p90, latency.p99, latency.max,
        json_of(session.drop_copy));
}

service::Severity severity_of(Finding::Kind kind) noexcept { return words_of(kind).severity; }

std::string_view stage_of(Finding::Kind kind) noexcept { return words_of(kind).stage; }

std::vector<Finding> Findings::update(const std::vector<SessionReport>& sessions, const RawLogLosses& raw_log,
                                      std::int64_t utc_ns, const std::vector<engine::ReplicaStatus>& replicas) {
    auto found = findings_of(replicas);
    found.insert(found.end(), lasting_.begin(), lasting_.end());
    for (const auto& session : sessions) find_in(session, found);
    if (raw_log.pieces != 0 || raw_log.bytes != 0) {
        found.push_back(
            {.kind = Finding::Kind::raw_log_lost,
             .of = "the raw log",
             .text = fmt::format("{} pieces did not fit, {} bytes were not written", raw_log.pieces, raw_log.bytes)});
    }
    std::map<std::string, std::int64_t> since;
    const std::lock_guard guard{lock_};
    for (auto& finding : found) {
        if (finding.since_utc_ns != 0) continue;  // the session knows its start
        const auto key = fmt::format("{} {}", static_cast<int>(finding.kind), finding.of);
        const auto known = since_.find(key);
        finding.since_utc_ns = known != since_.end() ? known->second : utc_ns;
        since.emplace(key, finding.since_utc_ns);
    }
    since_ = std::move(since);
    std::ranges::stable_sort(found, {}, [](const Finding& finding) {
        return std::tuple{-static_cast<int>(severity_of(finding.kind)), finding.since_utc_ns};
    });
    return found;
}

std::string findings_metric(const std::vector<Finding>& findings) {
    std::set<std::string> series;
    for (const auto& finding : findings) {
        const auto& words = words_of(finding.kind);
        series.insert(metrics::labels_text({{"of", finding.of},
                                            {"severity", std::string{name(words.severity)}},
                                            {"stage", std::string{words.stage}}}));
    }
    constexpr std::string_view kName = "millpond_fix_finding";
    std::string page;
    metrics::append_head(page, kName, "1 while a finding of /api/health is active; inactive findings have no series.",
                         "gauge");
    for (const auto& labels : series) metrics::append_sample(page, kName, {}, labels, {}, 1);
    return page;
}

bool is_good(const std::vector<Finding>& findings) {
    return std::ranges::none_of(
        findings, [](const Finding& finding) { return severity_of(finding.kind) == service::Severity::error; });
}

std::string health_line(const std::vector<Finding>& findings) {
    if (findings.empty()) return "good\n";
    const auto& first = findings.front();
    return fmt::format("{}{}: {}: {} (since {} UTC)\n", is_good(findings) ? "good, but " : "",
                       words_of(first.kind).stage, first.of, first.text, time_text(first.since_utc_ns));
}

std::string health_json(const std::vector<SessionReport>& sessions, const std::vector<Finding>& findings,
                        const std::vector<std::string>& listening, std::int64_t started_utc_ns, std::int64_t utc_ns,
                        const std::vector<engine::ReplicaStatus>& replicas, bool has_admin) {
    return fmt::format(
        R"({{"now":{},"started":{},"good":{},"admin":{},"findings":{},"acceptors":{},"sessions":{},"replicas":{}}})"
        "\n",
        utc_ns, started_utc_ns, is_good(findings), has_admin,
        list_of(findings, [](const Finding& finding) { return json_of(finding); }),
        list_of(listening, [](const std::string& place) { return json_string(place); }),
        list_of(sessions, [](const SessionReport& session) { return session_json(session); }),
        list_of(replicas, [](const engine::ReplicaStatus& replica) { return json_of(replica); }));
}

}  // namespace millpond::fixd
