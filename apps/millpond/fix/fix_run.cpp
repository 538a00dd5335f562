#include "apps/millpond/fix/fix_run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

constexpr std::chrono::milliseconds kLookEvery{100};
constexpr std::chrono::seconds kFarewell{10};

}  // namespace

void run_engine(fixd::FixEngine& engine, service::Log& log, const std::function<bool()>& done) {
    const auto& stop = service::stop_on_signal();
    engine.start();
    for (const auto& place : engine.listening()) fmt::print("listening on {}\n", place);
    if (const auto metrics = engine.metrics_address(); !metrics.empty()) {
        fmt::print("metrics at http://{}/metrics\n", metrics);
    }
    std::fflush(stdout);
    while (!stop.load(std::memory_order_relaxed) && !(done && done())) {
        engine.watch(kLookEvery);
        log.tell_suppressed();
    }
    if (!engine.drain(kFarewell)) log.warning("drain", "not all sessions ended by a Logout");
}

}  // namespace millpond::app
