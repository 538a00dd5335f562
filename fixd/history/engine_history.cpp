#include "fixd/history/engine_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>

#include "fixd/settings/store_place.hpp"
#include "service/build_info.hpp"
#include "service/http/history_page.hpp"

namespace millpond::fixd {
namespace {

constexpr std::string_view kEngine = "engine";
constexpr std::size_t kMoreSessions = 8;

core::Moment now_on_both_clocks() { return {.utc_ns = core::utc_nanos(), .monotonic_ns = core::monotonic_nanos()}; }

std::size_t sessions_of(const EngineConfig& config) {
    std::size_t sessions = kMoreSessions;
    for (const auto& session : config.sessions) sessions += is_template(session) ? session.max_dynamic : 1;
    return std::min(sessions, EngineHistory::kMaxSessions);
}

/// The files are named like the store of the first session, so that two engines can share a folder. Without a server
/// nobody reads them.
service::HistoryFiles::Options files_of(const EngineConfig& config) {
    const bool is_served = !config.webs.empty() || !config.metrics.empty();
    if (config.state.empty() || config.sessions.empty() || !is_served) return {};
    const auto& first = config.sessions.front();
    const auto version = fix::begin_string(first.config.version);
    const std::filesystem::path store = store_place(config.state, version, first.config);
    return {.folder = config.state,
            .name = (store.extension() == ".store" ? store.stem() : store.filename()).string(),
            .mode = config.file_mode};
}

}  // namespace

EngineHistory::EngineHistory(const EngineConfig& config, SessionRecords& records, service::Log& log)
    : history_(SessionRecorder::capacities(sessions_of(config))),
      recorder_(history_, events_, records),
      files_(files_of(config), history_, events_,
             [&log](service::Severity severity, std::string_view cause, const std::string& text) {
                 log.say(severity, cause, text);
             }) {
    files_.load();
    const auto [version, commit] = service::build_info();
    files_.log_start(kEngine,
                     fmt::format("millpond {} ({}) started; sessions: {}, acceptors: {}", version, commit,
                                 config.sessions.size(), config.acceptors.size()),
                     now_on_both_clocks());
}

EngineHistory::~EngineHistory() {
    const auto now = now_on_both_clocks();
    session_events_.move_to(events_, now);
    events_.flush_all(now);
    events_.add({.kind = service::EventKind::stop, .source = kEngine, .text = "stopped"}, now);
}

void EngineHistory::update(const std::vector<SessionReport>& sessions, const std::vector<Finding>& findings,
                           core::Moment now) {
    recorder_.update(sessions, findings, now);
    events_.flush(now);
}

void EngineHistory::add(service::EventKind kind, service::Severity severity, std::string_view text) {
    events_.add({.kind = kind, .severity = severity, .source = kEngine, .text = text}, now_on_both_clocks());
}

void EngineHistory::add(const service::Reloaded& result) {
    const auto kind = service::EventKind::reload;
    for (const auto& text : result.done) add(kind, service::Severity::info, text);
    for (const auto& text : result.refused) add(kind, service::Severity::warning, text);
    if (result.done.empty() && result.refused.empty()) add(kind, service::Severity::info, "nothing has changed");
}

http::Page EngineHistory::page(const http::Request& request) const {
    return http::HistoryPage{history_, events_}.page(request, core::utc_nanos());
}

}  // namespace millpond::fixd
