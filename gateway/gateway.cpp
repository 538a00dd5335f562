#include "gateway/gateway.hpp"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/moment.hpp>

#include "gateway/settings/needs_restart.hpp"

namespace millpond::gateway {
namespace {

std::set<std::string> ring_names(const Config& config) {
    std::set<std::string> names;
    for (const auto& ring : config.rings) names.insert(ring.name);
    return names;
}

}  // namespace

Gateway::Gateway(const Config& config, service::Log& log)
    : log_(log),
      config_(config),
      receive_log_(log),
      page_([this] { return health(); }),
      sinks_({.rings = ring_names(config),
              .file_mode = config.file_mode,
              .pages = [this](const http::Request& request) { return page_.page(request); },
              .added = [this](const Consumer& sink) { page_.add(sink); },
              .removed = [this](const Consumer& sink) { forget(sink); }},
             log),
      reloader_(config.admin_token, log) {
    sinks_.rescue(config.sinks);
    for (const auto& ring : config.rings) {
        const auto say = [this](service::Severity severity, std::string_view cause, const std::string& text) {
            log_.say(severity, cause, text);
        };
        pipelines_.push_back(std::make_unique<Pipeline>(ring, config, say));
        page_.add(*pipelines_.back());
    }
    sinks_.open(config.sinks);
    monitor_ = std::make_unique<health::Monitor>(pipelines_, sinks_.watched(), core::MomentClock{}.now());
    if (!config.metrics.empty()) serve_metrics(config.metrics);
    for (const auto& pipeline : pipelines_) receive_log_.opened(*pipeline);
}

Gateway::~Gateway() {
    reloader_.stop();  // the thread of the metrics may wait for it
    for (const auto& pipeline : pipelines_) pipeline->stop();
    sinks_.stop();
    http_.reset();
}

void Gateway::start() {
    sinks_.start();
    for (const auto& pipeline : pipelines_) pipeline->start();
}

void Gateway::watch() {
    const auto now = core::MomentClock{}.now();
    for (const auto& pipeline : pipelines_) {
        pipeline->set_midnights(now.utc_ns);
        receive_log_.watch(*pipeline);
    }
    monitor_->look(now);
    log_.tell_suppressed();
}

void Gateway::forget(const Consumer& sink) {
    monitor_->set_sinks(sinks_.watched());
    page_.remove(sink);
}

Reloaded Gateway::reconfigure(const Config& next) {
    check_runnable(next);
    Reloaded result{.done = {}, .refused = what_needs_a_restart(config_, next)};
    sinks_.replace(next.sinks, result);
    monitor_->set_sinks(sinks_.watched());
    for (const auto& text : result.done) log_.info("reload " + text, "reload: {}", text);
    for (const auto& text : result.refused) log_.warning("reload " + text, "reload: {}", text);
    return result;
}

void Gateway::serve_metrics(const net::SocketAddress& listen) {
    http::Acts acts;
    if (reloader_.accepts_posts()) {
        acts = [this](const http::Request& request, std::string_view authorization) {
            return reloader_.act(request, authorization);
        };
    }
    http_ = std::make_unique<http::Server>(
        http::Server::Options{.name = "metrics", .listen = listen, .acts = std::move(acts)},
        [this](const http::Request& request) { return page_.page(request); });
    log_.info("metrics", "metrics: http://{}/metrics", http_->address().to_string());
}

void Gateway::read_totals(Totals& totals) const {
    totals = {};
    metrics::HistogramSnapshot wire;
    for (const auto& pipeline : pipelines_) {
        pipeline->publisher().latencies().wire.read(wire);
        totals.wire.merge(wire);
        pipeline->for_each_feed([&](const auto& line) {
            line.for_each_line([&](std::string_view, const net::UdpReceiver& receiver) {
                totals.datagrams += receiver.counters().datagrams.read();
                totals.kernel_drops += receiver.counters().kernel_drops.read();
            });
            totals.quotes += line.counters().quotes.read();
            totals.malformed += line.counters().malformed.read();
            line.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
                if (name == "sequence_missing") totals.missing += tally.read();
            });
        });
    }
}

net::SocketAddress Gateway::metrics_address() const { return http_ ? http_->address() : net::SocketAddress{}; }

}  // namespace millpond::gateway
