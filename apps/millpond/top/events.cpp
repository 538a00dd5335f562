#include <fmt/format.h>
#include <json/value.h>
#include <json/writer.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <millpond/core/clock.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/command_line/utc_text.hpp"
#include "apps/millpond/top/daemon_address.hpp"
#include "service/event_log.hpp"
#include "service/http/get.hpp"
#include "service/json.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

constexpr std::uint64_t kLimit = 1'000;  // events in a response
constexpr std::chrono::milliseconds kAskEvery{500};

struct EventsOptions {
    std::string address{"127.0.0.1:9464"};
    std::string token_env;
    std::string kind;
    std::string since;
    bool follow{false};
    bool json{false};
};

/// Parses an age such as 15m, in nanoseconds.
std::optional<std::int64_t> age_of(std::string_view text) {
    constexpr std::array<std::pair<char, std::int64_t>, 4> kUnits{{{'s', 1}, {'m', 60}, {'h', 3'600}, {'d', 86'400}}};
    constexpr std::int64_t kMaxSeconds = std::int64_t{366} * 86'400;
    if (text.empty()) return std::nullopt;
    const auto unit = std::ranges::find(kUnits, text.back(), [](const auto& one) { return one.first; });
    if (unit == kUnits.end()) return std::nullopt;
    std::int64_t count = 0;
    const auto* const end = text.data() + text.size() - 1;
    const auto [rest, error] = std::from_chars(text.data(), end, count);
    if (error != std::errc{} || rest != end || count < 0 || count > kMaxSeconds / unit->second) return std::nullopt;
    return count * unit->second * 1'000'000'000;
}

std::int64_t since_of(const std::string& text) {
    if (const auto age = age_of(text)) return core::utc_nanos() - *age;
    if (const auto time = utc_of(text); time && *time >= 0) return *time;
    throw UsageError(
        fmt::format("--since: '{}' is neither an age like 15m nor a time like 2026-11-20T14:30:00 (UTC)", text));
}

std::string check_kinds(const std::string& text) {
    for (std::string_view rest{text}; !rest.empty();) {
        const auto end = std::min(rest.find(','), rest.size());
        if (std::ranges::find(service::kEventKinds, rest.substr(0, end)) == service::kEventKinds.end())
            return fmt::format("'{}' is none of {}", rest.substr(0, end), fmt::join(service::kEventKinds, ", "));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return {};
}

/// Replaces control characters, which a counterparty could have sent.
std::string printable(std::string text) {
    std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
    // U+0080 to U+009F in UTF-8.
    for (std::size_t at = 0; (at = text.find('\xc2', at)) != std::string::npos; ++at) {
        if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0) text.replace(at, 2, "?");
    }
    return text;
}

std::string text_of(const Json::Value& event) {
    const auto text = [&](const char* key) { return printable(event[key].asString()); };
    auto what = text("kind");
    if (event["ended"].asBool()) {
        what += fmt::format(" ended after {:.1f} s",
                            static_cast<double>(event["time"].asInt64() - event["since"].asInt64()) / 1e9);
    }
    return fmt::format("{}Z {:<7} {}: {}: {}{}{}\n", utc_text(event["time"].asInt64()), text("severity"),
                       text("source"), what, text("stage"), event["stage"].isNull() ? "" : ": ", text("text"));
}

std::string line_of(const Json::Value& event) {
    Json::StreamWriterBuilder writer;
    writer["indentation"] = "";
    writer["emitUTF8"] = true;
    return Json::writeString(writer, event) + '\n';
}

/// Asks a daemon for events, each once.
class EventReader {
public:
    explicit EventReader(const EventsOptions& options)
        : server_(daemon_address("ADDRESS", options.address)), token_(token_from(options.token_env)) {
        if (!options.kind.empty()) filter_ += "&kind=" + options.kind;
        if (options.since.empty()) return;
        filter_ += fmt::format("&from={}", since_of(options.since));
        after_ = 0;  // all events since, not the newest ones
    }

    /// Calls print for each event that is new since the last call; the first call without --since has the newest ones.
    template <class Print>
    void read(Print&& print) {
        for (bool more = true; more;) {
            const auto page = service::parse_json(http::get(server_, target(), token_));
            const auto& events = service::member(page, "events");
            const auto& newest = service::member(page, "newest");
            const auto last = newest.isNull() ? 0 : newest.asUInt64();
            const auto log = service::member(page, "log").asUInt64();
            if (std::exchange(log_, log).value_or(log) != log) {  // the daemon has started without its state folder
                after_ = 0;
                continue;
            }
            for (const auto& event : events) print(event);
            more = after_ && events.size() == kLimit;
            // An event that was logged after `newest` was read may be among them.
            const auto newest_here = events.empty() ? 0 : events[events.size() - 1]["number"].asUInt64();
            after_ = more ? newest_here : std::max(last, newest_here);
        }
    }

private:
    [[nodiscard]] std::string target() const {
        auto target = fmt::format("/api/events?limit={}{}", kLimit, filter_);
        if (after_) target += fmt::format("&after={}", *after_);
        return target;
    }

    net::SocketAddress server_;
    std::string token_;
    std::string filter_;
    std::optional<std::uint64_t> log_;
    std::optional<std::uint64_t> after_;
};

int run(const EventsOptions& options) {
    EventReader reader{options};
    const auto& stop = service::stop_on_signal();
    const auto print = [&](const Json::Value& event) {
        fmt::print("{}", options.json ? line_of(event) : text_of(event));
    };
    reader.read(print);
    bool is_connected = true;
    while (options.follow && !stop.load(std::memory_order_relaxed) && std::fflush(stdout) == 0) {
        std::this_thread::sleep_for(kAskEvery);
        try {
            reader.read(print);
            is_connected = true;
        } catch (const std::runtime_error& error) {
            if (is_connected) to_stderr("millpond events: {}; retrying\n", error.what());
            is_connected = false;
        }
    }
    return 0;
}

}  // namespace

Command events_command(Arguments& program) {
    auto* command = program.add_subcommand("events", "Show what has happened in a gateway or a FIX engine.");
    command->footer(
        "Reads /api/events from the metrics address or the page of a gateway or a FIX engine: the newest 1,000 of its "
        "last 10,000 events, or with --since all of that time.\n"
        "Kinds are start, stop, reload, gap, session, connect, disconnect, finding, latency, and of a FIX engine "
        "logon, logout, resend, reject, reset and admin.\n"
        "Examples:\n"
        "  millpond events\n"
        "  millpond events localhost:9465 --token-env MILLPOND_TOKEN --since 2h --kind gap,finding\n"
        "  millpond events localhost:9475 --kind logon,logout,admin\n"
        "  millpond events --follow --json | jq -r .text");
    auto options = std::make_shared<EventsOptions>();
    command->add_option("ADDRESS", options->address, "address of its metrics or its page, or a URL of them")
        ->capture_default_str();
    command->add_flag("--follow", options->follow, "print new events as they come");
    command->add_option("--kind", options->kind, "only these kinds of events")
        ->type_name("KIND,...")
        ->check(check_kinds);
    command->add_option("--since", options->since, "only events since a time (UTC), or of the last 30s, 15m, 2h or 1d")
        ->type_name("TIME|AGE");
    command->add_flag("--json", options->json, "print a JSON object for each event");
    command->add_option("--token-env", options->token_env, "environment variable with the token")->type_name("NAME");
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
