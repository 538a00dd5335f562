#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/command.hpp"
#include "apps/millpond/http_get.hpp"
#include "apps/millpond/stop_signal.hpp"
#include "apps/millpond/top_text.hpp"

namespace millpond::app {
namespace {

struct Options {
    std::string gateway{"127.0.0.1:9464"};
    std::string token_env;
    std::string format{"table"};
    bool once{false};
    std::uint32_t interval_ms{1'000};
};

std::string token_of(const Options& options) {
    if (options.token_env.empty()) return {};
    const char* token = std::getenv(options.token_env.c_str());  // NOLINT(concurrency-mt-unsafe): at start
    if (token == nullptr) throw UsageError(fmt::format("--token-env: variable '{}' is not set", options.token_env));
    return token;
}

net::SocketAddress address_of(const Options& options) {
    try {
        return net::SocketAddress::parse(options.gateway);
    } catch (const std::invalid_argument& error) {
        throw UsageError(fmt::format("--gateway: {}", error.what()));
    }
}

int run(const Options& options) {
    const auto gateway = address_of(options);
    const auto token = token_of(options);
    const auto& stop = stop_on_signal();
    const bool clears = !options.once && isatty(STDOUT_FILENO) == 1;
    for (;;) {
        const auto health = http_get(gateway, "/api/health", token);
        fmt::print("{}{}", clears ? "\033[H\033[2J" : "", options.format == "json" ? health : top_text(health));
        std::fflush(stdout);
        if (options.once) return 0;
        std::this_thread::sleep_for(std::chrono::milliseconds{options.interval_ms});
        if (stop.load(std::memory_order_relaxed)) return 0;
    }
}

}  // namespace

Command top_command(CLI::App& program) {
    auto* command = program.add_subcommand("top", "Show a running gateway: rates, latencies, lag, losses, findings.");
    command->footer(
        "Reads /api/health where a gateway serves its metrics or its page.\n"
        "Examples:\n"
        "  millpond top\n"
        "  millpond top --gateway 127.0.0.1:9465 --token-env MILLPOND_TOKEN\n"
        "  millpond top --once --format json | jq .first");
    auto options = std::make_shared<Options>();
    command->add_option("--gateway", options->gateway, "where it serves its metrics or its page")
        ->type_name("ADDRESS:PORT")
        ->capture_default_str();
    command->add_option("--token-env", options->token_env, "variable of the environment that holds the token")
        ->type_name("NAME");
    command->add_option("--format", options->format, "tables, or the JSON as it is")
        ->check(CLI::IsMember({"table", "json"}))
        ->capture_default_str();
    command->add_flag("--once", options->once, "once, and end");
    command->add_option("--interval-ms", options->interval_ms, "between two looks")->capture_default_str();
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
