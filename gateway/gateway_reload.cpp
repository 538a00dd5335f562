#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gateway/gateway.hpp"
#include "gateway/reload_check.hpp"
#include "service/json_string.hpp"

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

std::string list_of(const std::vector<std::string>& texts) {
    std::string list;
    for (const auto& text : texts) list += (list.empty() ? "" : ",") + service::json_string(text);
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
    compare(next.file_mode == now.file_mode, "file_mode");
    return changed;
}

}  // namespace

Reloaded Gateway::reconfigure(Config next) {
    Reloaded result{.done = {}, .refused = what_needs_a_restart(config_, next)};
    next.file_mode = config_.file_mode;
    static_cast<void>(prepare_sinks(next));  // throws for what cannot be had
    keep_what_cannot_change(next, result);
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
    const auto before = config_;
    for_each_sink_list(
        [&](auto list) { std::erase_if(config_.*list, [&](const auto& sink) { return gone.contains(sink.name); }); });
    open_new_sinks(next, before, result);
    monitor_->set_sinks(watched_);
    for (const auto& text : result.done) log_.info("reload " + text, "reload: {}", text);
    for (const auto& text : result.refused) log_.warning("reload " + text, "reload: {}", text);
    return result;
}

void Gateway::open_new_sinks(const Config& next, const Config& before, Reloaded& result) {
    for_each_sink_list([&](auto list) {
        const auto open = [&](const auto& sink) {
            Config single;
            single.file_mode = config_.file_mode;
            (single.*list).push_back(sink);
            std::optional<std::string> failure;
            try {
                failure = open_late(prepare_sinks(single).front());
            } catch (const std::exception& error) {
                failure = error.what();  // a secret that was there when it was looked at
            }
            if (!failure) (config_.*list).push_back(sink);
            return failure;
        };
        for (const auto& sink : new_in(next.*list, config_.*list)) {
            const auto failure = open(sink);
            if (!failure) {
                result.done.push_back(fmt::format("sink '{}' runs", sink.name));
                continue;
            }
            const auto old = std::ranges::find(before.*list, sink.name, [](const auto& one) { return one.name; });
            const bool restored = old != (before.*list).end() && !open(*old);
            result.refused.push_back(fmt::format("sink '{}' {}: {}", sink.name,
                                                 restored ? "runs with its old settings" : "is left out", *failure));
        }
    });
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

std::optional<std::string> Gateway::open_late(const PreparedSink& sink) {
    const auto before = sinks_.size();
    try {
        sink.open();
        list_sink(*sinks_.back());
        sinks_.back()->start();
        return std::nullopt;
    } catch (const std::exception& error) {
        if (sinks_.size() != before) {
            listed_of_sink_.erase(sink.name);
            watched_.pop_back();
            sinks_.pop_back();
        }
        return error.what();
    }
}

void Gateway::keep_what_cannot_change(Config& next, Reloaded& result) const {
    std::set<std::string> kept;
    const ReloadCheck check{config_};
    for_each_sink_list([&](auto list) {
        for (const auto& sink : new_in(next.*list, config_.*list)) {
            auto obstacle = check.obstacle(sink);
            if constexpr (requires { sink.journal; }) {
                if (kept.contains(sink.journal)) obstacle = fmt::format("journal '{}' does not change", sink.journal);
            }
            if (!obstacle) continue;
            bool runs = false;
            for_each_sink_list([&](auto other) {
                for (const auto& one : config_.*other) runs = runs || one.name == sink.name;
            });
            result.refused.push_back(
                fmt::format("sink '{}' is left {}: {}", sink.name, runs ? "as it was" : "out", *obstacle));
            kept.insert(sink.name);
        }
    });
    for_each_sink_list([&](auto list) {
        std::erase_if(next.*list, [&](const auto& sink) { return kept.contains(sink.name); });
        std::ranges::copy_if(config_.*list, std::back_inserter(next.*list),
                             [&](const auto& sink) { return kept.contains(sink.name); });
    });
}

http::Page Gateway::act(const http::Request& request, std::string_view authorization) {
    if (request.path != "/api/reload") return {};
    if (!admin_token_.admits_bearer(authorization)) {
        log_.warning("admin", "admin: a reload was asked for without the right token");
        return {.type = "text/plain", .body = "the admin's token is needed\n", .status = 401};
    }
    const auto result = desk_.ask(kPatience);
    if (!result && desk_.is_closed()) return {.type = "text/plain", .body = "the gateway is stopping\n", .status = 503};
    if (!result) return {.type = "text/plain", .body = "no answer yet; the log will tell\n", .status = 202};
    return {
        .type = "application/json",
        .body = fmt::format("{{\"done\":{},\"refused\":{}}}\n", list_of(result->done), list_of(result->refused)),
        .status = result->refused.empty() ? 200U : 409U,
    };
}

}  // namespace millpond::gateway
