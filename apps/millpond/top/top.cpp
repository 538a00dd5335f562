#include <fmt/format.h>
#include <json/value.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/top/daemon_address.hpp"
#include "apps/millpond/top/terminal.hpp"
#include "apps/millpond/top/text_table.hpp"
#include "apps/millpond/top/top_text.hpp"
#include "service/http/get.hpp"
#include "service/json.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

struct TopOptions {
    std::string gateway{"127.0.0.1:9464"};
    std::string token_env;
    std::string format{"table"};
    bool once{false};
    std::uint32_t interval_ms{1'000};
};

constexpr std::string_view kKeys = "q quit   sort by: n name  r rate  l lag  m missed  c configuration";

/// Sort order selected by a key; nullopt if the key is not assigned.
std::optional<TopOrder> order_of(char key) {
    switch (key) {
        case 'n': return TopOrder::name;
        case 'r': return TopOrder::rate;
        case 'l': return TopOrder::lag;
        case 'm': return TopOrder::missed;
        case 'c': return TopOrder::configured;
        default: return std::nullopt;
    }
}

bool wants_colour() {
    const char* const no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread
    return no_colour == nullptr || *no_colour == '\0';
}

/// Throws std::runtime_error.
TopAnswers ask(const net::SocketAddress& daemon, const std::string& token) {
    constexpr std::int64_t kMinuteNs = 60'000'000'000;
    TopAnswers answers{.health = http::get(daemon, "/api/health", token)};
    const auto health = service::parse_json(answers.health);
    if (health.isMember("feeds")) answers.clients = http::get(daemon, "/api/clients", token);  // not a FIX engine
    const auto from = service::member(health, "now").asInt64() - kMinuteNs;
    answers.history = http::get(daemon, fmt::format("/api/history?from={}&step=3", from), token);
    return answers;
}

/// The error, and below it the old answers in grey.
std::string old_text(const TopAnswers& answers, const std::string& error, const TopView& view) {
    auto out = toned(error.substr(0, view.width), Tone::error, view.colour) + '\n';
    if (answers.health.empty() || view.height < 3) return out;
    out += toned(std::string_view{"Below is its last answer."}.substr(0, view.width), Tone::faint, view.colour) + '\n';
    std::istringstream lines{
        top_text(answers, {.width = view.width, .height = view.height - 2, .colour = false, .order = view.order})};
    for (std::string line; std::getline(lines, line);) out += toned(line, Tone::faint, view.colour) + '\n';
    return out;
}

/// Shows a screen that is redrawn until `q` or a signal. It stays open while the daemon does not respond.
int watch(const TopOptions& options, const net::SocketAddress& daemon, const std::string& token,
          const std::atomic<bool>& stop) {
    const Terminal terminal;
    TopView view{.colour = wants_colour()};
    TopAnswers answers;
    std::string error;
    auto next = std::chrono::steady_clock::now();
    while (!stop.load(std::memory_order_relaxed)) {
        if (std::chrono::steady_clock::now() >= next) {
            try {
                answers = ask(daemon, token);
                error.clear();
            } catch (const std::exception& failure) {
                error = fmt::format("no response: {}; retrying", failure.what());
            }
            next = std::chrono::steady_clock::now() + std::chrono::milliseconds{options.interval_ms};
        }
        const auto [width, height] = terminal.size();
        view.width = width;
        view.height = height - 1;
        terminal.draw((error.empty() ? top_text(answers, view) : old_text(answers, error, view)) +
                      toned(kKeys.substr(0, width), Tone::faint, view.colour));
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - std::chrono::steady_clock::now());
        const char key = terminal.key(std::max(left, std::chrono::milliseconds{1}));
        if (key == 'q') return 0;
        view.order = order_of(key).value_or(view.order);
    }
    return 0;
}

int run(const TopOptions& options) {
    const auto daemon = daemon_address("--gateway", options.gateway);
    const auto token = token_from(options.token_env);
    const auto& stop = service::stop_on_signal();
    if (!options.once && options.format == "table" && Terminal::available()) return watch(options, daemon, token, stop);
    for (;;) {
        if (options.format == "json") {
            fmt::print("{}", http::get(daemon, "/api/health", token));
        } else {
            const auto answers = ask(daemon, token);
            fmt::print("{}", top_text(answers));
        }
        std::fflush(stdout);
        if (options.once) return 0;
        std::this_thread::sleep_for(std::chrono::milliseconds{options.interval_ms});
        if (stop.load(std::memory_order_relaxed)) return 0;
    }
}

}  // namespace

Command top_command(Arguments& program) {
    auto* command =
        program.add_subcommand("top", "Show a running gateway or FIX engine: rates, lag, losses, findings.");
    command->footer(
        "Reads /api/health, /api/clients and /api/history from the metrics address or the page of a gateway or a FIX "
        "engine. On a "
        "terminal, `q` ends it, and n, r, l, m and c sort by name, rate, lag, missed events, or as configured; "
        "sessions of a FIX engine by name, messages received, unread output, rejects, or as configured. NO_COLOR "
        "switches colours off.\n"
        "Examples:\n"
        "  millpond top\n"
        "  millpond top localhost:9465 --token-env MILLPOND_TOKEN\n"
        "  millpond top http://localhost:9475/\n"
        "  millpond top --once --json | jq .first");
    auto options = std::make_shared<TopOptions>();
    auto* const flag =
        command->add_option("--gateway", options->gateway, "address of its metrics or its page, or a URL of them")
            ->type_name("ADDRESS:PORT")
            ->capture_default_str();
    command->add_option("GATEWAY", options->gateway, "the same, without the flag")->excludes(flag);
    command->add_option("--token-env", options->token_env, "environment variable with the token")->type_name("NAME");
    command->add_option("--format", options->format, "tables, or the JSON of /api/health")
        ->one_of({"table", "json"})
        ->capture_default_str();
    command->add_flag("--json", [format = &options->format] { *format = "json"; }, "the same as --format json");
    command->add_flag("--once", options->once, "print once and exit");
    command->add_option("--interval-ms", options->interval_ms, "milliseconds between two updates")
        ->check(whole_number(100, 3'600'000))
        ->capture_default_str();
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
