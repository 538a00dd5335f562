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
constexpr std::chrono::seconds kTimeout{30};

std::string list_of(const std::vector<std::string>& texts) {
    return fmt::format("[{}]", fmt::join(std::views::transform(texts, core::json_string), ","));
}

}  // namespace

void append_if_changed(bool same, std::string_view what, std::vector<std::string>& refused) {
    if (!same) refused.push_back(fmt::format("{} changed: ignored until a restart", what));
}

std::string json_of(const Reloaded& result) {
    return fmt::format("{{\"done\":{},\"refused\":{}}}", list_of(result.done), list_of(result.refused));
}

std::optional<Reloaded> ReloadRequests::request(std::chrono::seconds timeout) {
    std::unique_lock lock{mutex_};
    if (closed_) return std::nullopt;
    const auto number = ++requested_;
    changed_.wait_for(lock, timeout, [&] { return answered_ >= number || closed_; });
    return answered_ >= number ? std::optional{result_} : std::nullopt;
}

void ReloadRequests::close() {
    {
        const std::lock_guard lock{mutex_};
        closed_ = true;
    }
    changed_.notify_all();
}

bool ReloadRequests::is_closed() {
    const std::lock_guard lock{mutex_};
    return closed_;
}

bool ReloadRequests::is_requested() {
    const std::lock_guard lock{mutex_};
    return requested_ > begun_;
}

void ReloadRequests::begin() {
    const std::lock_guard lock{mutex_};
    begun_ = requested_;
}

void ReloadRequests::answer(Reloaded result) {
    {
        const std::lock_guard lock{mutex_};
        answered_ = begun_;
        result_ = std::move(result);
    }
    changed_.notify_all();
}

Reloader::~Reloader() { stop(); }

bool Reloader::begin(std::function<Reloaded()> reload) {
    if (is_running()) return false;
    requests_.begin();
    thread_ = std::thread{[this, reload = std::move(reload)] {
        core::name_this_thread("reload");
        requests_.answer(reload());
        finished_.store(true, std::memory_order_release);  // sync "reloaded": the load in poll_finished
    }};
    return true;
}

bool Reloader::poll_finished() {
    // sync "reloaded": the store in begin
    if (!finished_.exchange(false, std::memory_order_acquire)) return false;
    thread_.join();
    return true;
}

void Reloader::stop() {
    requests_.close();
    if (thread_.joinable()) thread_.join();
}

std::optional<Reloaded> Reloader::request() { return requests_.request(kTimeout); }

}  // namespace millpond::service
