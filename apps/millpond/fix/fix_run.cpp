#include "apps/millpond/fix/fix_run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

#include <millpond/core/clock.hpp>

#include "service/service_notice.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

constexpr std::chrono::milliseconds kWatchEngineEvery{100};
constexpr std::chrono::seconds kDrainTimeout{10};

/// Reloads the configuration; changes nothing if it is faulty.
service::Reloaded reload(fixd::FixEngine& engine, service::Log& log, const ReadAgain& read) try {
    if (!read) throw std::runtime_error("there is no --config to reload");
    return engine.reconfigure(read());
} catch (const std::exception& error) {
    const auto text = fmt::format("nothing was changed: {}", error.what());
    log.say(service::Severity::error, "reload " + text, fmt::format("reload: {}", text));
    engine.note_failed_reload(text);
    return {.done = {}, .refused = {text}};
}

/// Starts a requested reload on the reloader's thread, so that the engine is watched meanwhile.
void reload_if_requested(fixd::FixEngine& engine, service::Log& log, const ReadAgain& read,
                         service::ServiceNotice& service) {
    auto& reloader = engine.reloader();
    if (reloader.poll_finished()) service.ready();
    if (reloader.is_running()) return;
    const bool hung_up = read && service::reload_on_signal().exchange(false);
    if (!hung_up && !reloader.requests().is_requested()) return;
    service.reloading(std::chrono::nanoseconds{core::monotonic_nanos()});
    reloader.begin([&] { return reload(engine, log, read); });
}

}  // namespace

fix::SecretTags hidden_of(const fixd::EngineConfig& config, const fixd::SessionSettings& session) {
    fix::SecretTags hidden{config.mask_tags};
    hidden.add(fix::SecretTags{fixd::secret_tags(session)});
    return hidden;
}

void run_engine(fixd::FixEngine& engine, service::Log& log, const ReadAgain& read, const std::function<bool()>& done) {
    const auto& stop = service::stop_on_signal();
    if (read) service::reload_on_signal();  // SIGHUP no longer ends the program
    engine.start();
    for (const auto& place : engine.listening()) fmt::print("listening on {}\n", place);
    if (const auto standby = engine.standby_address(); !standby.empty()) fmt::print("standby on {}\n", standby);
    if (const auto metrics = engine.metrics_address(); !metrics.empty()) {
        fmt::print("metrics at http://{}/metrics\n", metrics);
    }
    for (const auto& page : engine.page_addresses()) fmt::print("page: {}\n", page);
    std::fflush(stdout);
    service::ServiceNotice service;
    service.ready();
    while (!stop.load(std::memory_order_relaxed) && !(done && done())) {
        std::this_thread::sleep_for(kWatchEngineEvery);
        engine.watch();
        reload_if_requested(engine, log, read, service);
        service.beat(true, std::chrono::nanoseconds{core::monotonic_nanos()});
        log.report_suppressed();
    }
    service.stopping();
    engine.reloader().stop();
    if (!engine.drain(kDrainTimeout)) log.warning("drain", "not all sessions ended by a Logout");
}

}  // namespace millpond::app
