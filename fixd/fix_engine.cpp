#include "fixd/fix_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/created_file.hpp>
#include <millpond/core/thread_name.hpp>
#include <millpond/files/pack_file.hpp>
#include <millpond/tls/context.hpp>

#include "fixd/admin/session_admin.hpp"
#include "fixd/health/exposures.hpp"
#include "fixd/print/fix_printer.hpp"
#include "fixd/settings/start_check.hpp"
#include "fixd/web/asset.hpp"
#include "service/config_error.hpp"
#include "service/file_hashes.hpp"
#include "service/out_of_memory.hpp"
#include "service/settings/changed_keys.hpp"

namespace millpond::fixd {
namespace {

constexpr std::chrono::milliseconds kAdminPollInterval{100};
constexpr std::int64_t kSecondNs = 1'000'000'000;

/// The changes that a running engine cannot make, each as a sentence. Sessions compare `user_file`.
std::vector<std::string> changes_that_need_restart(const EngineConfig& now, const EngineConfig& next) {
    using service::append_if_changed;
    std::vector<std::string> changed;
    settings::append_changed_keys(now, next, changed, "user_file");
    append_if_changed(next.webs == now.webs, "[[web]]", changed);
    append_if_changed(next.standby == now.standby, "[standby]", changed);
    return changed;
}

/// Creates the folders of the stores and of the raw log.
void make_folders(const EngineConfig& config) {
    const auto make = [&](const std::filesystem::path& folder) {
        if (!folder.empty() && !std::filesystem::exists(folder)) core::create_folders(folder, config.file_mode);
    };
    for (const auto& settings : config.sessions) {
        if (is_in_memory(settings)) continue;
        const auto& store = settings.store.file;
        make(is_template(settings) ? store : store.parent_path());
    }
    make(config.raw_log.file.parent_path());
}

}  // namespace

/// The constructor reads all files, also unchanged ones: a secret that all users may read by now is refused. It throws
/// before anything is changed.
class FixEngine::Renewals {
public:
    explicit Renewals(FixEngine& engine) : engine_(&engine), admin_token_(engine.config_.admin_token) {
        service::FileHashes hashes;
        for (std::size_t i = 0; i < engine.pages_.size(); ++i) {
            const auto& web = engine.config_.webs[i];
            Page page{.place = i,
                      .files = hashes.of(files_read(web)),
                      .token = service::Token{web.token},
                      .tls = tls_of(web)};
            if (page.files != engine.page_files_[i]) pages_.push_back(std::move(page));
        }
        if (engine.replicas_ == nullptr) return;
        auto files = hashes.of(files_read(*engine.config_.standby));
        auto options = replica_options(*engine.config_.standby);
        auto context = service::named("[standby]",
                                      [&] { return std::make_unique<tls::Context>(tls::Role::server, *options.tls); });
        if (files == engine.standby_files_) return;
        standby_ = {.files = std::move(files), .tls = std::move(context), .admits = std::move(options.admits)};
    }
    void apply(service::Reloaded& result) {
        if (engine_->reload_page_.renew(std::move(admin_token_)))
            result.done.emplace_back("the admin token was read again");
        for (auto& page : pages_) {
            engine_->pages_[page.place]->renew(std::move(page.token), page.tls);
            engine_->page_files_[page.place] = std::move(page.files);
            result.done.push_back(fmt::format("[[web]] {} has read its token and certificates",
                                              engine_->config_.webs[page.place].listen.to_string()));
        }
        if (standby_.tls == nullptr) return;
        engine_->replicas_->renew(std::move(standby_.tls), std::move(standby_.admits));
        engine_->standby_files_ = std::move(standby_.files);
        result.done.emplace_back("[standby] has read its token and certificates");
    }

private:
    struct Page {
        std::size_t place;
        std::string files;
        service::Token token;
        tls::Context tls;
    };
    struct Standby {
        std::string files;
        std::unique_ptr<tls::Context> tls;  // null: unchanged
        std::function<bool(std::string_view token)> admits;
    };

    FixEngine* engine_;
    service::Token admin_token_;
    std::vector<Page> pages_;
    Standby standby_;
};

FixEngine::FixEngine(const EngineConfig& config, const Applications& applications, service::Log& log)
    : log_(&log),
      config_(config),
      started_utc_ns_(core::utc_nanos()),
      findings_(exposures(config)),
      history_(config, records_, log),
      authenticator_(log),
      disabled_(config.state.empty() ? std::string{} : config.state + "/disabled", config.file_mode, log),
      reload_page_(config.admin_token, reloader_, log) {
    if (!config.raw_log.file.empty() && !files::can_pack()) {
        log.say(service::Severity::warning, "raw log.compress", "raw logs are not compressed: this build has no zstd");
    }
    for (const auto& exposed : exposures(config)) {
        const auto text = fmt::format("{}: {}", exposed.of, exposed.text);
        if (config.strict) throw service::ConfigError(text);
        log.warning("exposed " + text, "{}", text);
    }
    make_folders(config);
    add_threads(config, log);
    std::ranges::move(authenticator_.add_metrics(registry_), std::back_inserter(registrations_));
    log_unknown_users(config);
    if (config.standby) open_standby(*config.standby);
    sessions_ = std::make_unique<SessionSet>(
        SessionSet::Options{.threads = io_,
                            .raw_logs = raw_logs_,
                            .quiet = config.quiet,
                            .mask_tags = config.mask_tags,
                            .registry = &registry_,
                            .records = &records_,
                            .events = &history_.session_events(),
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
    reloader_.stop();  // releases waiting requests
    if (admin_thread_.joinable()) {
        stopping_.store(true, std::memory_order_relaxed);
        admin_thread_.join();
    }
    http_.reset();
    pages_.clear();
    for (const auto& io : io_) io->stop();
    if (standby_io_ != nullptr) standby_io_->stop();
}

/// The standby has an I/O thread without sessions: with some durabilities it waits for the disk.
void FixEngine::open_standby(const StandbyConfig& standby) {
    standby_io_ = std::make_unique<engine::IoThread>(engine::IoThread::Options{.name = "fix-standby"});
    standby_files_ = service::FileHashes{}.of(files_read(standby));
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
    replicas_ = service::named(
        "[standby]", [&] { return std::make_unique<engine::ReplicaServer>(*standby_io_, std::move(options)); });
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

std::vector<SessionReport> FixEngine::reports() {
    std::vector<SessionReport> all;
    const auto copies = sessions_->drop_copies().reports();
    const auto now = core::utc_nanos();
    for (const auto& session : sessions()) {
        const auto record = records_.of(session->name());
        all.push_back({.status = session->status(),
                       .error = record->error(),
                       .latency = record->latencies().read(),
                       .rejections = record->rejections(now),
                       .peer_rejects = record->peer_rejects(),
                       .gaps = record->gaps()});
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
        request,
        {.sessions = [this] { return sessions(); },
         .reload = [this] { return reloader_.request(); },
         .disabled = [this](std::string_view session, bool disabled) { disabled_.set(session, disabled); },
         .disabled_names = [this] { return disabled_.names(); },
         .replicas = [this] { return replicas(); },
         .promote = [this](std::string_view session, bool force) { return promote(session, force); },
         .acted =
             [this](const std::string& session, const std::string& text) {
                 log_->info(session + ".admin." + text, "{}: by an operator: {}", session, text);
                 history_.session_events().add({.kind = service::EventKind::admin, .session = session, .text = text});
             }});
}

void FixEngine::add_threads(const EngineConfig& config, service::Log& log) {
    for (std::size_t i = 0; i < config.threads; ++i) {
        auto options = config.io;
        options.name += fmt::format("-{}", i);
        options.on_exception = [&log](const std::exception_ptr& error) {
            try {
                std::rethrow_exception(error);
            } catch (const std::exception& thrown) {
                log.say(service::Severity::error, "fix.exception", fmt::format("exception: {}", thrown.what()));
            }
        };
        if (options.cpu) *options.cpu += static_cast<int>(i);
        io_.push_back(std::make_unique<engine::IoThread>(options));
        const metrics::Labels labels{{"thread", options.name}};
        const auto& counters = io_.back()->counters();
        registrations_.push_back(registry_.add_counter(
            {"millpond_fix_io_rounds_total", "Rounds of an I/O thread over all its work.", labels}, counters.rounds));
        registrations_.push_back(registry_.add_counter(
            {"millpond_fix_io_sleeps_total", "Times that an I/O thread waited.", labels}, counters.sleeps));
        if (config.raw_log.file.empty()) continue;
        auto raw_options = config.raw_log;
        if (config.threads > 1) raw_options.file += fmt::format(".thread{}", i);
        raw_options.compress = files::can_pack();
        raw_options.file_mode = config.file_mode;
        raw_options.secrets = fix::SecretTags{config.mask_tags};
        raw_logs_.push_back(service::need_memory(fmt::format("raw_log ({} bytes)", raw_options.ring_bytes),
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

/// Logs users without a line in the user file. Throws if the file cannot be used.
void FixEngine::log_unknown_users(const EngineConfig& config) {
    for (const auto& text : check_users(config)) log_->warning("users " + text, "{}", text);
}

void FixEngine::start() {
    for (const auto& io : io_) io->start();
    if (standby_io_ != nullptr) standby_io_->start();
    add_metrics_of_new_sessions();
    history_.start();
    if (admin_ == nullptr) return;
    // On a separate thread: a request may wait for a reload, which the watching thread starts.
    admin_thread_ = std::thread{[this] {
        core::name_this_thread("fix-admin");
        while (!stopping_.load(std::memory_order_relaxed)) admin_->poll(kAdminPollInterval);
    }};
}

/// Makes this engine the standby of sessions that another machine has taken over.
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
    const core::Moment now{.utc_ns = core::utc_nanos(), .monotonic_ns = core::monotonic_nanos()};
    history_.move_events(now);
    if (now.utc_ns / kSecondNs == checked_utc_ns_ / kSecondNs) return;
    checked_utc_ns_ = now.utc_ns;
    // A finding's age counts from its start, not from the first request.
    const auto all = reports();
    history_.update(all, findings_.update(all, raw_log_losses(), now.utc_ns, replicas()), now);
    std::set<std::string> names;
    for (const auto& report : all) names.insert(report.status.name);
    records_.keep([&](const std::string& session) { return names.contains(session); });
}

service::Reloaded FixEngine::reconfigure(EngineConfig next) {
    // Refused, not ignored: the sessions of `next` have their stores there.
    if (next.state != config_.state) throw service::ConfigError("key 'state' has changed, which needs a restart");
    service::Reloaded result{.done = {}, .refused = changes_that_need_restart(config_, next)};
    for (auto& session : next.sessions) session.store.file_mode = config_.file_mode;
    for (auto& copy : next.drop_copies) copy.file_mode = config_.file_mode;
    log_unknown_users(next);
    Renewals renewals{*this};
    make_folders(next);
    {
        const std::lock_guard guard{change_lock_};
        sessions_->replace(next, result);
    }
    renewals.apply(result);
    for (const auto& text : result.done) log_->info("reload " + text, "reload: {}", text);
    for (const auto& text : result.refused) log_->warning("reload " + text, "reload: {}", text);
    history_.add(result);
    return result;
}

void FixEngine::note_failed_reload(std::string_view text) {
    history_.add(service::EventKind::reload, service::Severity::error, text);
}

/// Also removes the metrics of sessions that no longer exist.
void FixEngine::add_metrics_of_new_sessions() {
    const std::lock_guard guard{metrics_lock_};
    const auto all = sessions();
    std::erase_if(session_metrics_,
                  [&](const auto& known) { return std::ranges::find(all, known.second.session) == all.end(); });
    for (const auto& session : all) {
        if (const auto known = session_metrics_.find(session->name()); known != session_metrics_.end()) {
            known->second.log.update(session->status(), *log_);
            continue;
        }
        session_metrics_.emplace(
            session->name(), Listed{.session = session, .registrations = session->add_metrics(registry_), .log = {}});
    }
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
    sessions_->drop_copies().settle();  // copies of the last messages
    return all;
}

}  // namespace millpond::fixd
