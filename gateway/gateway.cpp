#include "gateway/gateway.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/moment.hpp>

#include "service/build_info.hpp"
#include "service/file_hashes.hpp"
#include "service/http/history_page.hpp"
#include "service/settings/changed_keys.hpp"
#include "service/settings/errors.hpp"
#include "service/token.hpp"

namespace millpond::gateway {
namespace {

constexpr std::int64_t kConfigCheckNs = 2'000'000'000;
/// Source of events of the gateway itself.
constexpr std::string_view kName = "gateway";

std::set<std::string> ring_names(const Config& config) {
    std::set<std::string> names;
    for (const auto& ring : config.rings) names.insert(ring.name);
    return names;
}

void refuse_warnings(const Config& config) {
    if (!config.strict) return;
    settings::Errors errors;
    for (const auto& text : warnings(config)) errors.add(text);
    errors.throw_if_any();
}

/// The changes that a running gateway cannot make, each as a sentence.
std::vector<std::string> changes_that_need_restart(const Config& now, const Config& next) {
    using service::append_if_changed;
    std::vector<std::string> changed;
    settings::append_changed_keys(now, next, changed);
    append_if_changed(next.rings == now.rings, "[[ring]]", changed);
    append_if_changed(next.feeds == now.feeds, "[[feed]]", changed);
    append_if_changed(next.composites == now.composites, "[[composite]]", changed);
    append_if_changed(next.symbols == now.symbols, "[symbols]", changed);
    return changed;
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

Gateway::Gateway(const Config& config, service::Log& log)
    : log_(log),
      config_((refuse_warnings(config), config)),
      receive_log_(log, events_),
      page_([this] { return health(); }),
      sinks_({.rings = ring_names(config),
              .file_mode = config.file_mode,
              .pages = [this](const http::Request& request) { return page(request); },
              .acts = config.admin_token.empty()
                          ? http::Acts{}
                          : http::Acts{[this](const http::Request& request, std::string_view authorization) {
                                return clients_page_.disconnect(request, authorization);
                            }},
              .added = [this](const Consumer& sink) { page_.add(sink); },
              .removed = [this](const Consumer& sink) { forget(sink); },
              .request_books = [this](const std::string& ring) { request_books(ring); }},
             log),
      reload_page_(config.admin_token, reloader_, log),
      clients_page_([this] { return health(); }, reload_page_, events_, log) {
    sinks_.rescue(config.sinks);
    for (const auto& ring : config.rings) {
        const auto log_function = [this](service::Severity severity, std::string_view cause, const std::string& text) {
            log_.say(severity, cause, text);
        };
        pipelines_.push_back(std::make_unique<Pipeline>(ring, config, log_function));
        page_.add(*pipelines_.back());
    }
    sinks_.open(config.sinks);
    monitor_ = std::make_unique<health::Monitor>(pipelines_, sinks_.watched(), metrics_exposure(config),
                                                 core::MomentClock{}.now());
    program_ = {.name = config.name.empty() ? config.rings.front().name : config.name,
                .host = host_name(),
                .version = std::string{service::build_info().version},
                .config_file = config.file,
                .config_changed = false,
                .admits_admin = reload_page_.is_enabled()};
    monitor_->set_program(program_);
    open_history();
    if (!config.metrics.empty()) serve_metrics(config.metrics);
    for (const auto& pipeline : pipelines_) receive_log_.opened(*pipeline);
    warn_of(config);
}

Gateway::~Gateway() {
    reloader_.stop();  // the HTTP thread may wait for a reload
    for (const auto& pipeline : pipelines_) pipeline->stop();
    sinks_.stop();
    const auto now = core::MomentClock{}.now();
    for (const auto& pipeline : pipelines_) receive_log_.watch(*pipeline, now);  // its last notices
    recorder_->finish(now);
    events_.flush_all(now);
    events_.add({.kind = service::EventKind::stop, .source = kName, .text = "stopped"}, now);
    http_.reset();
}

void Gateway::start() {
    sinks_.start();
    for (const auto& pipeline : pipelines_) pipeline->start();
    history_files_->start();
}

void Gateway::open_history() {
    const auto state = monitor_->state();
    history_ = std::make_unique<service::History>(health::Recorder::capacities(*state));
    recorder_ = std::make_unique<health::Recorder>(*history_, events_, *state);
    history_files_ = std::make_unique<service::HistoryFiles>(
        service::HistoryFiles::Options{
            .folder = config_.state, .name = config_.rings.front().name, .mode = config_.file_mode},
        *history_, events_, [this](service::Severity severity, std::string_view cause, const std::string& text) {
            log_.say(severity, cause, text);
        });
    const auto now = core::MomentClock{}.now();
    history_files_->load();
    const auto [version, commit] = service::build_info();
    history_files_->log_start(kName,
                              fmt::format("millpond {} ({}) started; rings: {}, feeds: {}, sinks: {}", version, commit,
                                          state->rings.size(), state->feeds.size(), state->sinks.size()),
                              now);
}

void Gateway::watch() {
    const auto now = core::MomentClock{}.now();
    for (const auto& pipeline : pipelines_) {
        pipeline->set_midnights(now.utc_ns);
        receive_log_.watch(*pipeline, now);
    }
    watch_config_file(now.monotonic_ns);
    monitor_->update(now);
    recorder_->update(*monitor_->state());
    log_.report_suppressed();
}

void Gateway::watch_config_file(std::int64_t now_ns) {
    if (config_.file.empty() || now_ns - config_checked_ns_ < kConfigCheckNs) return;
    config_checked_ns_ = now_ns;
    const auto on_disk = service::FileHashes{}.of({&config_.file, 1});
    const std::lock_guard lock{file_hash_mutex_};
    const bool changed = on_disk != config_.file_hash;
    if (changed == std::exchange(program_.config_changed, changed)) return;
    monitor_->set_program(program_);
}

void Gateway::warn_of(const Config& config) {
    for (const auto& text : warnings(config)) log_.warning("exposed " + text, "{}", text);
}

void Gateway::request_books(const std::string& ring) const {
    for (const auto& pipeline : pipelines_) {
        if (pipeline->config().name == ring) pipeline->request_books();
    }
}

void Gateway::forget(const Consumer& sink) {
    monitor_->set_sinks(sinks_.watched());
    page_.remove(sink);
}

Reloaded Gateway::reconfigure(const Config& next) {
    check_runnable(next);
    refuse_warnings(next);
    Reloaded result{.done = {}, .refused = changes_that_need_restart(config_, next)};
    service::Token admin_token{config_.admin_token};
    sinks_.replace(next.sinks, result);
    if (result.refused.empty()) {
        const std::lock_guard lock{file_hash_mutex_};
        config_.file_hash = next.file_hash;
    }
    if (reload_page_.renew(std::move(admin_token))) result.done.emplace_back("the admin token was read again");
    monitor_->set_sinks(sinks_.watched());
    warn_of(next);
    const auto now = core::MomentClock{}.now();
    const auto note = [&](service::Severity severity, std::string_view text) {
        events_.add({.kind = service::EventKind::reload, .severity = severity, .source = kName, .text = text}, now);
    };
    for (const auto& text : result.done) {
        log_.info("reload " + text, "reload: {}", text);
        note(service::Severity::info, text);
    }
    for (const auto& text : result.refused) {
        log_.warning("reload " + text, "reload: {}", text);
        note(service::Severity::warning, text);
    }
    if (result.done.empty() && result.refused.empty()) note(service::Severity::info, "nothing has changed");
    return result;
}

void Gateway::note_failed_reload(std::string_view text) {
    events_.add(
        {.kind = service::EventKind::reload, .severity = service::Severity::error, .source = kName, .text = text},
        core::MomentClock{}.now());
}

http::Page Gateway::page(const http::Request& request) const {
    auto page = http::HistoryPage{*history_, events_}.page(request, core::utc_nanos());
    if (page.type.empty()) page = clients_page_.page(request);
    return page.type.empty() ? page_.page(request) : page;
}

void Gateway::serve_metrics(const net::SocketAddress& listen) {
    http::Acts acts;
    if (reload_page_.is_enabled()) {
        acts = [this](const http::Request& request, std::string_view authorization) {
            return request.path == kDisconnectPath ? clients_page_.disconnect(request, authorization)
                                                   : reload_page_.act(request, authorization);
        };
    }
    http_ = std::make_unique<http::Server>(http::Options{.name = "metrics", .listen = listen, .acts = std::move(acts)},
                                           [this](const http::Request& request) { return page(request); });
    log_.info("metrics", "metrics: http://{}/metrics", http_->address().to_string());
}

void Gateway::read_totals(Totals& totals) const {
    totals = {};
    metrics::HistogramSnapshot wire;
    for (const auto& pipeline : pipelines_) {
        pipeline->publisher().latencies().wire.read(wire);
        totals.wire.merge(wire);
        pipeline->for_each_feed([&](const auto& feed) {
            feed.for_each_line([&](std::string_view, const Line& receiver) {
                totals.datagrams += receiver.counters().datagrams.read();
                totals.kernel_drops += receiver.counters().kernel_drops.read();
            });
            totals.quotes += feed.counters().quotes.read();
            const auto health = feed.health();
            totals.malformed += health.malformed;
            totals.missing += health.missing;
        });
    }
}

net::SocketAddress Gateway::metrics_address() const { return http_ ? http_->address() : net::SocketAddress{}; }

}  // namespace millpond::gateway
