#include "service/reloader.hpp"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/json_string.hpp>
#include <millpond/core/thread_name.hpp>

namespace millpond::service {
namespace {

/// Timeout for the result of a reload; closing a sink may take two seconds.
constexpr std::chrono::seconds kPatience{30};

std::string list_of(const std::vector<std::string>& texts) {
    return fmt::format("[{}]", fmt::join(std::views::transform(texts, core::json_string), ","));
}

}  // namespace

void needs_restart(bool same, std::string_view what, std::vector<std::string>& refused) {
    if (!same) refused.push_back(fmt::format("{} changed: ignored until a restart", what));
}

std::string json_of(const Reloaded& result) {
    return fmt::format("{{\"done\":{},\"refused\":{}}}", list_of(result.done), list_of(result.refused));
}

std::optional<Reloaded> ReloadDesk::ask(std::chrono::seconds patience) {
    std::unique_lock lock{mutex_};
    if (closed_) return std::nullopt;
    wished_ = true;
    answer_.reset();
    answered_.wait_for(lock, patience, [this] { return answer_.has_value() || closed_; });
    return std::exchange(answer_, std::nullopt);
}

void ReloadDesk::close() {
    {
        const std::lock_guard lock{mutex_};
        closed_ = true;
    }
    answered_.notify_all();
}

bool ReloadDesk::is_closed() {
    const std::lock_guard lock{mutex_};
    return closed_;
}

bool ReloadDesk::is_wished() {
    const std::lock_guard lock{mutex_};
    return wished_;
}

void ReloadDesk::answer(Reloaded what) {
    {
        const std::lock_guard lock{mutex_};
        wished_ = false;
        answer_ = std::move(what);
    }
    answered_.notify_one();
}

Reloader::Reloader(const TokenSource& admin_token, Log& log) : admin_token_(admin_token), log_(log) {}

Reloader::~Reloader() { stop(); }

bool Reloader::begin(std::function<Reloaded()> reload) {
    if (is_running()) return false;
    thread_ = std::thread{[this, reload = std::move(reload)] {
        core::name_this_thread("reload");
        desk_.answer(reload());
        finished_.store(true, std::memory_order_release);  // sync "reloaded": the load in take_finished
    }};
    return true;
}

bool Reloader::take_finished() {
    // sync "reloaded": the store in begin
    if (!finished_.exchange(false, std::memory_order_acquire)) return false;
    thread_.join();
    return true;
}

void Reloader::stop() {
    desk_.close();
    if (thread_.joinable()) thread_.join();
}

std::optional<Reloaded> Reloader::ask() { return desk_.ask(kPatience); }

http::Page Reloader::act(const http::Request& request, std::string_view authorization) {
    if (request.path != "/api/reload") return {};
    if (!admin_token_.admits_bearer(authorization)) {
        log_.warning("admin", "admin: a reload was requested with a wrong token or none");
        return {.type = "text/plain", .body = "the admin token is required\n", .status = 401};
    }
    const auto result = ask();
    if (!result && desk_.is_closed()) return {.type = "text/plain", .body = "the program is stopping\n", .status = 503};
    if (!result) return {.type = "text/plain", .body = "no result yet; see the log\n", .status = 202};
    return {
        .type = "application/json",
        .body = json_of(*result) + "\n",
        .status = result->refused.empty() ? 200U : 409U,
    };
}

}  // namespace millpond::service
