#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/state_folder.hpp"
#include "apps/millpond/gateway/demo.hpp"
#include "apps/millpond/gateway/demo_folder.hpp"
#include "apps/millpond/gateway/gateway_flags.hpp"
#include "apps/millpond/gateway/gateway_hints.hpp"
#include "apps/millpond/gateway/port_lock.hpp"
#include "apps/millpond/gateway/status_line.hpp"
#include "gateway/gateway.hpp"
#include "gateway/settings/config.hpp"
#include "service/log.hpp"
#include "service/service_notice.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

constexpr std::int64_t kStatusEveryNs = 1'000'000'000;
constexpr std::chrono::milliseconds kWatchGatewayEvery{50};

struct GatewayCommandOptions {
    GatewayFlags flags;
    std::optional<DemoOptions> demo;
    bool benchmark{false};  ///< Prints the latencies of the run at its end.
};

/// Raises the soft limit of descriptors to the hard limit, because each client needs one.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/// Whether every receive thread, which beats ten times a second, has done so within the last two seconds.
bool receiving(const gateway::Gateway& gateway) {
    constexpr std::uint64_t kAliveNs = 2'000'000'000;
    const auto now = static_cast<std::uint64_t>(core::monotonic_nanos());
    return std::ranges::all_of(gateway.pipelines(), [now](const auto& pipeline) {
        return now - pipeline->publisher().beaten_ns().read() <= kAliveNs;
    });
}

/// Reads and completes the configuration. demo: folder for a demo's files; null without a demo.
gateway::Config read_config(const GatewayCommandOptions& options, const DemoFolder* demo) {
    settings::Errors errors;
    auto config = options.flags.read(demo == nullptr ? gateway::Config{} : demo_defaults(), errors);
    if (demo != nullptr) {
        add_demo_feed(*options.demo, demo->path(), config);
    } else if (config.state.empty()) {
        config.state = usual_state_folder(options.flags.has_file());
    }
    errors.check([&] { gateway::complete(config); });
    errors.throw_if_any();
    return config;
}

/// Reloads the configuration; changes nothing if it is faulty.
gateway::Reloaded reload(const GatewayCommandOptions& options, gateway::Gateway& gateway, service::Log& log) try {
    if (options.demo) throw UsageError("a demo cannot be reconfigured");
    return gateway.reconfigure(read_config(options, nullptr));
} catch (const std::exception& error) {
    const auto text = fmt::format("nothing was changed: {}", error.what());
    log.say(service::Severity::error, "reload " + text, fmt::format("reload: {}", text));
    gateway.note_failed_reload(text);
    return {.done = {}, .refused = {text}};
}

/// Starts a requested reload on the reloader's thread, so that the gateway is watched meanwhile.
void reload_if_requested(const GatewayCommandOptions& options, gateway::Gateway& gateway, service::Log& log,
                         service::ServiceNotice& service) {
    auto& reloader = gateway.reloader();
    if (reloader.poll_finished()) service.ready();
    if (reloader.is_running()) return;
    const bool hung_up = !options.demo && service::reload_on_signal().exchange(false);
    if (!hung_up && !reloader.requests().is_requested()) return;
    service.reloading(std::chrono::nanoseconds{core::monotonic_nanos()});
    reloader.begin([&] { return reload(options, gateway, log); });
}

/// Returns the maximum length of the status line: a longer one would wrap and could not be overwritten.
std::size_t status_columns() {
    constexpr std::size_t kUsual = 80;
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    return (known ? std::min<std::size_t>(size.ws_col, kUsual) : kUsual) - 1;
}

/// Prints the status on a terminal once a second until `stop`.
void watch(const GatewayCommandOptions& options, gateway::Gateway& gateway, service::Log& log,
           const std::atomic<bool>& stop, bool quiet, service::ServiceNotice& service) {
    const bool on_terminal = isatty(STDOUT_FILENO) == 1;
    StatusLine status;
    auto shown = core::monotonic_nanos();
    while (!stop.load(std::memory_order_relaxed)) {
        std::this_thread::sleep_for(kWatchGatewayEvery);
        gateway.watch();
        reload_if_requested(options, gateway, log, service);
        const auto now = core::monotonic_nanos();
        service.beat(receiving(gateway), std::chrono::nanoseconds{now});
        if (!on_terminal || quiet || now - shown < kStatusEveryNs) continue;
        fmt::print("\r\033[K{}", status.next(gateway, now - shown, status_columns()));
        std::fflush(stdout);
        shown = now;
    }
    if (on_terminal && !quiet) fmt::print("\n");
}

/// Prints the latencies since startup, two lines for each ring.
void print_latencies(const gateway::Gateway& gateway) {
    fmt::print("{:<32}{:>12}{:>12}{:>12}{:>12}\n", "latency, us", "events", "average", "p50", "p95");
    const auto snapshot = std::make_unique<metrics::HistogramSnapshot>();
    const auto print = [&](const char* stage, const std::string& ring, const auto& histogram) {
        histogram.read(*snapshot);
        const auto micros = [](auto nanos) { return static_cast<double>(nanos) / 1'000; };
        fmt::print("{:<32}{:>12}{:>12.3f}{:>12.3f}{:>12.3f}\n", fmt::format("{} '{}'", stage, ring), snapshot->count(),
                   micros(snapshot->mean()), micros(snapshot->percentile(50)), micros(snapshot->percentile(95)));
    };
    for (const auto& pipeline : gateway.pipelines()) {
        const auto& latencies = pipeline->publisher().latencies();
        print("wire to ring", pipeline->config().name, latencies.wire);
        print("receive to ring", pipeline->config().name, latencies.in_process);
    }
}

int run(const GatewayCommandOptions& options) {
    std::optional<PortLock> turn;
    std::optional<DemoFolder> folder;  // outlives the sink that writes to it
    std::unique_ptr<Demo> demo;
    if (options.demo) {
        demo = std::make_unique<Demo>(*options.demo);
        turn.emplace();
        folder.emplace();
    }
    const auto config = read_config(options, folder ? &*folder : nullptr);
    if (config.feeds.empty()) throw UsageError("no feed: give --feed, or --config with a [[feed]]");
    raise_descriptor_limit();
    const auto& stop = service::stop_on_signal();
    if (options.demo) {
        service::stop_on_hang_up();
    } else {
        service::reload_on_signal();  // from here on SIGHUP does not end the program
    }
    service::Log log{config.log_level, config.log_format};
    gateway::Gateway gateway{config, log};
    turn.reset();
    gateway.start();
    const auto sending = std::move(demo);  // destroyed before the gateway
    if (sending) sending->begin(gateway);
    if (!config.quiet) print_hints(config, gateway, options.demo.has_value());
    service::ServiceNotice service;
    service.ready();
    watch(options, gateway, log, stop, config.quiet, service);
    if (options.benchmark) print_latencies(gateway);
    service.stopping();
    return 0;
}

}  // namespace

Command gateway_command(Arguments& program) {
    auto* command = program.add_subcommand("gateway", "Receive feeds, publish them to shared memory and serve sinks.");
    command->footer(
        "Examples:\n"
        "  millpond gateway --feed listen=224.0.105.2:51002,format=miax-tom,interface=eth1 --tcp listen=0.0.0.0:9100\n"
        "  millpond gateway --config /etc/millpond/gateway.toml --log-format json --quiet");
    auto options = std::make_shared<GatewayCommandOptions>();
    options->flags.add_to(*command);
    command->add_flag("--benchmark", options->benchmark, "print average, p50 and p95 of the latencies at the end");
    return {command, [options] { return run(*options); }};
}

Command demo_command(Arguments& program) {
    auto* command = program.add_subcommand("demo", "Run a gateway with a page on a generated or recorded feed.");
    command->footer(
        "TCP, CSV and web sinks are added. The other options are the gateway's.\n"
        "Examples:\n"
        "  millpond demo\n"
        "  millpond demo --replay day.pcap --speed 10");
    auto options = std::make_shared<GatewayCommandOptions>();
    options->demo.emplace().add_to(*command);
    options->flags.add_to(*command);
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
