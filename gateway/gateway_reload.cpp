#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gateway/gateway.hpp"
#include "gateway/lines/json_string.hpp"
#include "gateway/tls.hpp"
#include "gateway/token.hpp"

namespace millpond::gateway {
namespace {

/// An admin waits so long for what became of a wish; closing a sink may take two seconds.
constexpr std::chrono::seconds kPatience{30};

/// Those of `next` that `now` does not have just so.
template <class Settings>
std::vector<Settings> new_in(const std::vector<Settings>& next, const std::vector<Settings>& now) {
    std::vector<Settings> result;
    std::ranges::copy_if(next, std::back_inserter(result),
                         [&](const Settings& one) { return std::ranges::find(now, one) == now.end(); });
    return result;
}

template <class Visitor>
void for_each_sink_list(Visitor&& visit) {
    std::apply([&](auto... lists) { (visit(lists), ...); }, kSinkLists);
}

/// Throws ConfigError for a token or a certificate that cannot be had, before anything is closed for it.
void try_secrets(const Config& config) {
    for (const auto& sink : config.tcp) {
        static_cast<void>(Token{sink.token});
        static_cast<void>(TlsContext{sink.tls});
    }
    for (const auto& sink : config.web) {
        static_cast<void>(Token{sink.token});
        static_cast<void>(TlsContext{sink.tls});
    }
}

std::string list_of(const std::vector<std::string>& texts) {
    std::string list;
    for (const auto& text : texts) list += (list.empty() ? "" : ",") + lines::json_string(text);
    return "[" + list + "]";
}

std::vector<std::string> what_needs_a_restart(const Config& now, const Config& next) {
    std::vector<std::string> changed;
    const auto compare = [&](bool same, std::string_view what) {
        if (!same) changed.push_back(fmt::format("{} changed: that needs a restart and is left as it was", what));
    };
    compare(next.rings == now.rings, "[[ring]]");
    compare(next.feeds == now.feeds, "[[feed]]");
    compare(next.metrics == now.metrics, "metrics");
    compare(next.admin_token == now.admin_token, "admin_token");
    compare(next.log_level == now.log_level && next.log_format == now.log_format, "log_level or log_format");
    compare(next.capture == now.capture && next.capture_rotate_bytes == now.capture_rotate_bytes &&
                next.capture_keep == now.capture_keep && next.capture_buffer == now.capture_buffer,
            "capture");
    return changed;
}

}  // namespace

Reloaded Gateway::reconfigure(const Config& next) {
    try_secrets(next);
    Reloaded result{.done = {}, .refused = what_needs_a_restart(config_, next)};
    std::set<std::string> gone;
    for_each_sink_list([&](auto list) {
        for (const auto& sink : new_in(config_.*list, next.*list)) gone.insert(sink.name);
    });
    // What follows a journal goes and comes with it.
    for (const auto& sink : config_.kafka) {
        if (gone.contains(sink.journal)) gone.insert(sink.name);
    }
    for (std::size_t i = sinks_.size(); i-- != 0;) {
        if (!gone.contains(sinks_[i]->name())) continue;
        result.done.push_back(fmt::format("sink '{}' is closed", sinks_[i]->name()));
        close_sink(i);
    }
    for_each_sink_list([&](auto list) {
        auto kept = config_.*list;
        std::erase_if(kept, [&](const auto& sink) { return gone.contains(sink.name); });
        for (const auto& sink : new_in(next.*list, kept)) {
            Config single;
            (single.*list).push_back(sink);
            if (open_late(single, sink.name, result)) kept.push_back(sink);
        }
        config_.*list = std::move(kept);
    });
    monitor_->set_sinks(watched_);
    for (const auto& text : result.done) log_.info("reload " + text, "reload: {}", text);
    for (const auto& text : result.refused) log_.warning("reload " + text, "reload: {}", text);
    return result;
}

void Gateway::close_sink(std::size_t place) {
    auto& sink = *sinks_[place];
    std::erase_if(watched_, [&](const auto& watched) { return watched.thread == &sink; });
    monitor_->set_sinks(watched_);
    listed_of_sink_.erase(sink.name());
    sink.stop();
    tell_account(sink);
    sinks_.erase(sinks_.begin() + static_cast<std::ptrdiff_t>(place));
}

bool Gateway::open_late(const Config& single, const std::string& name, Reloaded& result) {
    const auto before = sinks_.size();
    try {
        open_sinks(single);
        list_sink(*sinks_.back());
        sinks_.back()->start();
        result.done.push_back(fmt::format("sink '{}' runs", name));
        return true;
    } catch (const std::exception& error) {
        if (sinks_.size() != before) {
            listed_of_sink_.erase(name);
            watched_.pop_back();
            sinks_.pop_back();
        }
        result.refused.push_back(fmt::format("sink '{}' is left out: {}", name, error.what()));
        return false;
    }
}

http::Page Gateway::act(const http::Request& request, std::string_view authorization) {
    if (request.path != "/api/reload") return {};
    if (!admin_token_.admits_bearer(authorization)) {
        log_.warning("admin", "admin: a reload was asked for without the right token");
        return {.type = "text/plain", .body = "the admin's token is needed\n", .status = 401};
    }
    const auto result = desk_.ask(kPatience);
    if (!result) return {.type = "text/plain", .body = "no answer yet; the log will tell\n", .status = 202};
    return {
        .type = "application/json",
        .body = fmt::format("{{\"done\":{},\"refused\":{}}}\n", list_of(result->done), list_of(result->refused)),
        .status = result->refused.empty() ? 200U : 409U,
    };
}

}  // namespace millpond::gateway
