#include "fixd/fix_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/created_file.hpp>
#include <millpond/core/thread_name.hpp>
#include <millpond/net/pack_file.hpp>

#include "fixd/admin/session_admin.hpp"
#include "fixd/print/fix_printer.hpp"
#include "fixd/web/asset.hpp"
#include "service/out_of_memory.hpp"

namespace millpond::fixd {
namespace {

constexpr std::chrono::milliseconds kAdminEvery{100};
constexpr std::int64_t kLookEveryNs = 1'000'000'000;

/// What of `next` cannot change while the engine runs, each as a sentence.
std::vector<std::string> what_needs_a_restart(const EngineConfig& now, const EngineConfig& next) {
    using service::needs_restart;
    std::vector<std::string> changed;
    needs_restart(next.log_level == now.log_level && next.log_format == now.log_format && next.quiet == now.quiet,
                  "log_level, log_format or quiet", changed);
    needs_restart(next.metrics == now.metrics && next.webs == now.webs, "metrics or [[web]]", changed);
    needs_restart(next.admin == now.admin && next.admin_token == now.admin_token, "admin or admin_token", changed);
    needs_restart(next.raw_log == now.raw_log && next.raw_log_ring == now.raw_log_ring &&
                      next.raw_log_rotate == now.raw_log_rotate &&
                      next.raw_log_rotate_hours == now.raw_log_rotate_hours && next.raw_log_keep == now.raw_log_keep &&
                      next.raw_log_compress == now.raw_log_compress && next.mask_tags == now.mask_tags,
                  "raw_log or mask_tags", changed);
    needs_restart(next.standby == now.standby, "[standby]", changed);
    needs_restart(next.file_mode == now.file_mode, "file_mode", changed);
    needs_restart(next.dictionaries == now.dictionaries, "dictionaries", changed);
    needs_restart(
        next.threads == now.threads && next.poll == now.poll && next.pin == now.pin && next.realtime == now.realtime,
        "threads, poll, pin or realtime", changed);
    return changed;
}

/// The folders of the stores and of the raw log.
void make_folders(const EngineConfig& config) {
    const auto make = [&](const std::filesystem::path& folder) {
        if (!folder.empty() && !std::filesystem::exists(folder)) core::create_folders(folder, config.file_mode);
    };
    for (const auto& settings : config.sessions) {
        if (is_in_memory(settings)) continue;
        const std::filesystem::path store{settings.store};
        make(is_template(settings) ? store : store.parent_path());
    }
    make(std::filesystem::path{config.raw_log}.parent_path());
}

}  // namespace

FixEngine::FixEngine(const EngineConfig& config, const Applications& applications, service::Log& log)
    : log_(&log),
      config_(config),
      started_utc_ns_(core::utc_nanos()),
      authenticator_(log),
      disabled_(config.state.empty() ? std::string{} : config.state + "/disabled", config.file_mode, log),
      reloader_(config.admin_token, log) {
    if (!config.raw_log.empty() && config.raw_log_compress && !net::can_pack()) {
        log.say(service::Severity::warning, "raw log.compress", "raw logs are not compressed: this build has no zstd");
    }
    make_folders(config);
    add_threads(config, log);
    std::ranges::move(authenticator_.add_metrics(registry_), std::back_inserter(registrations_));
    say_users(config);
    if (config.standby) open_standby(*config.standby);
    sessions_ = std::make_unique<SessionSet>(
        SessionSet::Options{.threads = io_,
                            .raw_logs = raw_logs_,
                            .quiet = config.quiet,
                            .registry = &registry_,
                            .records = &records_,
                            .authenticator = &authenticator_,
                            .disabled = &disabled_,
                            .replicas = replicas_.get(),
                            .removed = [this](const engine::SessionHandle& session) { forget(session); }},
        applications, log);
    sessions_->open(config);
    if (!config.metrics.empty()) serve_metrics();
    for (const auto& web : config.webs) serve_page(web);
    if (!config.admin.empty()) {
        admin_ =
            std::make_unique<AdminServer>(config.admin, [this](std::string_view request) { return answer(request); });
    }
}

FixEngine::~FixEngine() {
    reloader_.stop();  // its waiters must not wait for ever
    if (admin_thread_.joinable()) {
        stopping_.store(true, std::memory_order_relaxed);
        admin_thread_.join();
    }
    http_.reset();
    pages_.clear();
    for (const auto& io : io_) io->stop();
    if (standby_io_ != nullptr) standby_io_->stop();
}

/// Its thread waits for the disk where a session's durability says so, so it has no session.
void FixEngine::open_standby(const StandbyConfig& standby) {
    standby_io_ = std::make_unique<engine::IoThread>(engine::IoThread::Options{.name = "fix-standby"});
    auto options = replica_options(standby);
    options.superseded = [this](const std::string& name, std::uint64_t epoch) {
        for (const auto& session : sessions()) {
            if (session->name() == name) session->request_supersede(epoch);
        }
    };
    options.dropped = [this](const std::string& name, std::uint64_t messages) {
        log_->warning(name + ".dropped",
                      "{}: the last {} messages of this copy are dropped: its new primary lacks them", name, messages);
    };
    options.refused = [this](engine::ReplicaRefusal reason, const net::SocketAddress& peer, std::string_view session,
                             std::string_view detail) {
        const auto who = reason == engine::ReplicaRefusal::full ? std::string{} : " " + peer.to_string();
        log_->say(service::Severity::warning, fmt::format("standby.refused.{}", name(reason)),
                  fmt::format("standby: primary{} refused{}{}: {}{}{}", who, session.empty() ? "" : " for ",
                              shown(session), name(reason), detail.empty() ? "" : ": ", detail));
    };
    replicas_ = std::make_unique<engine::ReplicaServer>(*standby_io_, std::move(options));
    std::ranges::move(replicas_->add_metrics(registry_), std::back_inserter(registrations_));
    const auto gauge = [&](const char* metric, const char* help, bool (*counts)(const engine::ReplicaStatus&)) {
        registrations_.push_back(registry_.add_gauge({metric, help, {}}, [this, counts] {
            return static_cast<double>(std::ranges::count_if(replicas(), counts));
        }));
    };
    using Replica = engine::ReplicaStatus;
    gauge("millpond_fix_replicas", "Sessions that this engine is the standby of.",
          [](const Replica& one) { return !one.is_promoted; });
    gauge("millpond_fix_replicas_connected", "Of these, those whose primary is connected.",
          [](const Replica& one) { return !one.is_promoted && !one.peer.empty(); });
    gauge("millpond_fix_replicas_whole", "Of these, those that may be promoted without loss.",
          [](const Replica& one) { return !one.is_promoted && one.is_whole; });
}

std::vector<engine::ReplicaStatus> FixEngine::replicas() const {
    return replicas_ != nullptr ? replicas_->replicas() : std::vector<engine::ReplicaStatus>{};
}

std::string FixEngine::standby_address() const {
    return replicas_ != nullptr ? config_.standby->listen.with_port(replicas_->port()).to_string() : "";
}

std::string FixEngine::promote(std::string_view session, bool force) {
    const std::lock_guard guard{change_lock_};
    auto error = sessions_->promote(session, force);
    if (!error.empty()) log_->say(service::Severity::error, "promote", fmt::format("promote: {}", error));
    return error;
}

void FixEngine::serve_metrics() {
    http::Acts acts;
    if (reloader_.accepts_posts()) {
        acts = [this](const http::Request& request, std::string_view authorization) {
            return reloader_.act(request, authorization);
        };
    }
    http_ = std::make_unique<http::Server>(
        http::Server::Options{.name = "metrics", .listen = config_.metrics, .acts = std::move(acts)},
        [this](const http::Request& request) { return page(request); });
}

void FixEngine::serve_page(const WebConfig& web) {
    pages_.push_back(std::make_unique<http::Server>(
        http::Server::Options{.name = "fix-web",
                              .listen = web.listen,
                              .token = service::Token{web.token},
                              .tls = service::TlsContext{web.tls},
                              .is_open = [](std::string_view path) { return find_asset(path) != nullptr; },
                              .acts = {}},
        [this](const http::Request& request) {
            const auto* asset = find_asset(request.path);
            if (asset == nullptr) return page(request);
            return http::Page{.type = std::string{asset->type}, .body = std::string{asset->content}, .may_cache = true};
        }));
}

http::Page FixEngine::page(const http::Request& request) {
    if (request.path == "/metrics") {
        return {.type = std::string{metrics::Registry::kContentType}, .body = registry_.prometheus_text()};
    }
    if (request.path != "/health" && request.path != "/api/health") return {};
    const auto now = core::utc_nanos();
    const auto sessions = reports();
    const auto copies = replicas();
    const auto found = findings_.look(sessions, raw_log_losses(), now, copies);
    if (request.path == "/health") return {.type = "text/plain", .body = health_line(found), .good = is_good(found)};
    return {.type = "application/json",
            .body = health_json(sessions, found, listening(), started_utc_ns_, now, copies)};
}

std::vector<SessionReport> FixEngine::reports() {
    std::vector<SessionReport> all;
    const auto copies = sessions_->drop_copies().reports();
    for (const auto& session : sessions()) {
        const auto record = records_.of(session->name());
        all.push_back({.status = session->status(), .error = record->error(), .latency = record->latencies().read()});
        const auto copy = std::ranges::find(copies, session->name(), [](const auto& one) { return one.config.target; });
        if (copy != copies.end()) all.back().drop_copy = *copy;
    }
    return all;
}

RawLogLosses FixEngine::raw_log_losses() const {
    RawLogLosses losses;
    for (const auto& raw : raw_logs_) {
        losses.pieces += raw->counters().lost_pieces.read();
        losses.bytes += raw->counters().failed_bytes.read();
    }
    return losses;
}

std::string FixEngine::answer(std::string_view request) {
    return answer_admin(
        request, {.sessions = [this] { return sessions(); },
                  .reload = [this] { return reloader_.ask(); },
                  .disabled = [this](std::string_view session, bool disabled) { disabled_.set(session, disabled); },
                  .disabled_names = [this] { return disabled_.names(); },
                  .replicas = [this] { return replicas(); },
                  .promote = [this](std::string_view session, bool force) { return promote(session, force); }});
}

void FixEngine::add_threads(const EngineConfig& config, service::Log& log) {
    for (std::size_t i = 0; i < config.threads; ++i) {
        engine::IoThread::Options options{.name = fmt::format("fix-io-{}", i), .poll = config.poll};
        options.on_exception = [&log](const std::exception_ptr& error) {
            try {
                std::rethrow_exception(error);
            } catch (const std::exception& thrown) {
                log.say(service::Severity::error, "fix.exception", fmt::format("exception: {}", thrown.what()));
            }
        };
        if (config.pin) options.cpu = static_cast<int>(*config.pin + i);
        if (config.realtime != 0) options.realtime_priority = static_cast<int>(config.realtime);
        io_.push_back(std::make_unique<engine::IoThread>(options));
        const metrics::Labels labels{{"thread", options.name}};
        const auto& counters = io_.back()->counters();
        registrations_.push_back(registry_.add_counter(
            {"millpond_fix_io_rounds_total", "Rounds of an I/O thread over all its work.", labels}, counters.rounds));
        registrations_.push_back(registry_.add_counter(
            {"millpond_fix_io_sleeps_total", "Times that an I/O thread waited.", labels}, counters.sleeps));
        if (config.raw_log.empty()) continue;
        const engine::RawLog::Options raw_options{
            .file = config.threads == 1 ? config.raw_log : fmt::format("{}.thread{}", config.raw_log, i),
            .ring_bytes = config.raw_log_ring,
            .rotate_bytes = config.raw_log_rotate,
            .rotate_after = std::chrono::hours{config.raw_log_rotate_hours},
            .keep = config.raw_log_keep,
            .compress = config.raw_log_compress && net::can_pack(),
            .file_mode = config.file_mode,
            .secrets = fix::SecretTags{config.mask_tags}};
        raw_logs_.push_back(service::need_memory(fmt::format("raw_log_ring = {}", config.raw_log_ring),
                                                 [&] { return std::make_unique<engine::RawLog>(raw_options); }));
        const auto& raw = raw_logs_.back()->counters();
        const auto add = [&](const char* metric, const char* help, const core::Tally& tally) {
            registrations_.push_back(registry_.add_counter({metric, help, labels}, tally));
        };
        add("millpond_fix_raw_log_pieces_total", "Pieces of the byte stream written to the raw log's ring.",
            raw.pieces);
        add("millpond_fix_raw_log_lost_total", "Pieces of the byte stream lost because the raw log's ring was full.",
            raw.lost_pieces);
        add("millpond_fix_raw_log_compressed_total", "Raw logs that were compressed.", raw.compressed);
        add("millpond_fix_raw_log_compress_failures_total", "Raw logs that could not be compressed.",
            raw.compress_failures);
        add("millpond_fix_raw_log_failed_bytes_total", "Bytes that could not be written to the raw log.",
            raw.failed_bytes);
    }
}

/// Throws for a user file that cannot be used.
void FixEngine::say_users(const EngineConfig& config) {
    for (const auto& text : check_users(config)) log_->warning("users " + text, "{}", text);
}

void FixEngine::start() {
    for (const auto& io : io_) io->start();
    if (standby_io_ != nullptr) standby_io_->start();
    add_metrics_of_new_sessions();
    if (admin_ == nullptr) return;
    // On its own thread: a request may wait for a reload, which the watching thread starts.
    admin_thread_ = std::thread{[this] {
        core::name_this_thread("fix-admin");
        while (!stopping_.load(std::memory_order_relaxed)) admin_->poll(kAdminEvery);
    }};
}

/// Another machine has taken sessions over: from now on this one holds their copies.
void FixEngine::stand_by() {
    if (!sessions_->has_superseded()) return;
    const std::unique_lock guard{change_lock_,
                                 std::try_to_lock};  // a reload may wait for Logouts; the next call does it
    if (guard.owns_lock()) sessions_->stand_by_for_superseded();
}

void FixEngine::watch() {
    stand_by();
    add_metrics_of_new_sessions();
    sessions_->drop_copies().watch();
    const auto now = core::utc_nanos();
    if (now - looked_utc_ns_ < kLookEveryNs && now >= looked_utc_ns_) return;
    looked_utc_ns_ = now;
    // So that a finding's age counts from its beginning, not from the first request.
    const auto all = reports();
    static_cast<void>(findings_.look(all, raw_log_losses(), now, replicas()));
    std::set<std::string> names;
    for (const auto& report : all) names.insert(report.status.name);
    records_.keep([&](const std::string& session) { return names.contains(session); });
}

service::Reloaded FixEngine::reconfigure(EngineConfig next) {
    service::Reloaded result{.done = {}, .refused = what_needs_a_restart(config_, next)};
    for (auto& session : next.sessions) session.file_mode = config_.file_mode;
    for (auto& copy : next.drop_copies) copy.file_mode = config_.file_mode;
    say_users(next);
    make_folders(next);
    {
        const std::lock_guard guard{change_lock_};
        sessions_->replace(next, result);
    }
    for (const auto& text : result.done) log_->info("reload " + text, "reload: {}", text);
    for (const auto& text : result.refused) log_->warning("reload " + text, "reload: {}", text);
    return result;
}

/// Templates add sessions, which are also removed.
void FixEngine::add_metrics_of_new_sessions() {
    const std::lock_guard guard{metrics_lock_};
    const auto all = sessions();
    std::erase_if(session_metrics_,
                  [&](const auto& known) { return std::ranges::find(all, known.second.session) == all.end(); });
    for (const auto& session : all) {
        if (const auto known = session_metrics_.find(session->name()); known != session_metrics_.end()) {
            const auto status = session->status();
            say_failures(known->second, status);
            say_beyond(known->second, status);
            say_garbled(known->second, status);
            say_standby(known->second, status);
            continue;
        }
        session_metrics_.emplace(session->name(),
                                 Listed{.session = session, .registrations = session->add_metrics(registry_)});
    }
}

/// A store that cannot grow keeps less than its owner believes.
void FixEngine::say_failures(Listed& listed, const engine::SessionStatus& status) {
    if (status.store_failures == std::exchange(listed.store_failures, status.store_failures)) return;
    log_->say(service::Severity::warning, status.name + ".store",
              fmt::format("{}: the next file of its store cannot be prepared, so its oldest messages are removed: free "
                          "space on the disk ({} attempts since startup)",
                          status.name, status.store_failures));
}

/// Its counterparty's numbers are ahead of ours: it is going to find ours too low.
void FixEngine::say_beyond(Listed& listed, const engine::SessionStatus& status) {
    if (status.beyond == std::exchange(listed.beyond, status.beyond)) return;
    log_->say(
        service::Severity::warning, status.name + ".beyond",
        fmt::format("{}: the counterparty asked for messages that were never sent, beyond {}: its numbers are ahead "
                    "of ours ({} ResendRequests since the start)",
                    status.name, status.next_sender - 1, status.beyond));
}

/// A message that is always too long is asked for again and again.
void FixEngine::say_garbled(Listed& listed, const engine::SessionStatus& status) {
    if (status.garbled == std::exchange(listed.garbled, status.garbled)) return;
    log_->say(service::Severity::warning, status.name + ".garbled",
              fmt::format("{}: ignored bytes that are no message: a wrong BodyLength or CheckSum, or longer than "
                          "max_message_bytes ({} times since startup)",
                          status.name, status.garbled));
}

void FixEngine::say_standby(Listed& listed, const engine::SessionStatus& status) {
    const auto& standby = status.standby;
    if (standby.losses == std::exchange(listed.standby_losses, standby.losses)) return;
    log_->say(service::Severity::warning, status.name + ".standby",
              fmt::format("{}: the standby is lost{}{}; the session {} ({} losses since startup)", status.name,
                          standby.error.empty() ? "" : ": ", standby.error,
                          standby.goes_on ? "continues without it" : "stops until it is back", standby.losses));
}

void FixEngine::forget(const engine::SessionHandle& session) {
    const std::lock_guard guard{metrics_lock_};
    std::erase_if(session_metrics_, [&](const auto& known) { return known.second.session.get() == &session; });
}

bool FixEngine::drain(std::chrono::milliseconds bound) {
    const auto end = std::chrono::steady_clock::now() + bound;
    bool all = true;
    for (const auto& io : io_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        all = io->drain(std::max(left, std::chrono::milliseconds{1})) && all;
    }
    sessions_->drop_copies().settle();  // what the last sessions have sent
    return all;
}

std::string FixEngine::metrics_address() const { return http_ != nullptr ? http_->address().to_string() : ""; }

std::vector<std::string> FixEngine::page_addresses() const {
    std::vector<std::string> places;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
        places.push_back(
            fmt::format("{}://{}/", config_.webs[i].tls.empty() ? "http" : "https", pages_[i]->address().to_string()));
    }
    return places;
}

}  // namespace millpond::fixd
