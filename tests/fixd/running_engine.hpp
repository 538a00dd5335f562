#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/fix/utc_time.hpp>

#include "fixd/applications/fill_application.hpp"
#include "fixd/fix_engine.hpp"

namespace millpond::fixd {

/// Events of an engine's sessions.
struct Counts {
    std::atomic<int> logons{0};
    std::atomic<int> closed{0};
    std::atomic<int> messages{0};
};

/// Accepts every message and counts.
class Counting final : public engine::Application {
public:
    explicit Counting(Counts& counts) : counts_(&counts) {}
    fix::Verdict on_message(engine::SessionLink&, const fix::Message&) override {
        counts_->messages.fetch_add(1);
        return fix::Verdict::accepted;
    }
    void on_logon(engine::SessionLink&) override { counts_->logons.fetch_add(1); }
    void on_closed(engine::SessionLink&, engine::Closed) override { counts_->closed.fetch_add(1); }

private:
    Counts* counts_;
};

/// An engine with its log, started.
class RunningEngine {
public:
    explicit RunningEngine(const std::string& toml) : RunningEngine(toml, {}) {}
    /// make: creates the applications; if empty, applications that count.
    RunningEngine(const std::string& toml, Applications make) : RunningEngine(config_of(toml), std::move(make)) {}
    RunningEngine(const EngineConfig& config, Applications make)
        : engine_(config, make ? std::move(make) : counting(), log_) {
        engine_.start();
    }

    [[nodiscard]] static EngineConfig config_of(const std::string& toml) {
        EngineConfig config;
        read_engine_toml(toml, "fix.toml", config);
        complete(config);
        return config;
    }
    [[nodiscard]] FixEngine& engine() noexcept { return engine_; }
    [[nodiscard]] Counts& counts() noexcept { return counts_; }
    [[nodiscard]] std::string said() {
        const std::lock_guard guard{lock_};
        return lines_;
    }
    service::Reloaded reload(const std::string& toml) { return reload(config_of(toml)); }
    service::Reloaded reload(EngineConfig config) { return engine_.reconfigure(std::move(config)); }
    /// The status of the session whose name contains `part`.
    [[nodiscard]] engine::SessionStatus status(std::string_view part) const {
        for (const auto& session : engine_.sessions()) {
            if (session->name().find(part) != std::string::npos) return session->status();
        }
        return {.name = ""};
    }
    [[nodiscard]] bool is_active(std::string_view part) const {
        return status(part).state == fix::Session::State::active;
    }
    [[nodiscard]] std::uint16_t port(std::size_t acceptor = 0) const {
        const auto place = engine_.listening().at(acceptor);
        return static_cast<std::uint16_t>(std::stoi(place.substr(place.rfind(':') + 1)));
    }

private:
    [[nodiscard]] Applications counting() {
        return [this](const SessionSettings&, const fix::Dictionary*) { return std::make_unique<Counting>(counts_); };
    }

    Counts counts_;
    std::mutex lock_;
    std::string lines_;
    service::Log log_{service::Severity::debug, service::LogFormat::text, [this](const std::string& line) {
                          const std::lock_guard guard{lock_};
                          lines_ += line + "\n";
                      }};
    FixEngine engine_;
};

/// Waits up to a minute until `done` returns true.
template <class Done>
[[nodiscard]] bool comes_true(Done&& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (!done()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

/// An acceptor for the sessions of HOUSE.
inline const std::string kListen = "[[acceptor]]\nname = 'lan'\nlisten = '127.0.0.1:0'\n";

/// A session of HOUSE that waits for `target`.
[[nodiscard]] inline std::string waits_for(const std::string& target, const std::string& more = "") {
    return "[[session]]\nsender = 'HOUSE'\ntarget = '" + target + "'\n" + more;
}

/// Applications that fill each order.
[[nodiscard]] inline Applications filling() {
    return [](const SessionSettings&, const fix::Dictionary*) { return std::make_unique<FillApplication>(); };
}

/// A session of `sender` that connects to HOUSE and reconnects quickly.
[[nodiscard]] inline std::string connects(const std::string& sender, const RunningEngine& house,
                                          const std::string& more = "") {
    return "[[session]]\nsender = '" + sender +
           "'\ntarget = 'HOUSE'\nhosts = ['127.0.0.1:" + std::to_string(house.port()) +
           "']\nreconnect_ms = 20\nreconnect_longest_ms = 50\n" + more;
}

/// A message with the current time. body: fields, each followed by '|' in place of the delimiter.
[[nodiscard]] inline std::string fix_text(std::string_view begin_string, std::string_view type, std::uint64_t number,
                                          std::string_view from, std::string_view to, std::string_view body) {
    char time[fix::kMaxTimestampChars];
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::string_view stamp{
        time, fix::write_utc_timestamp(time, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
                                       fix::TimePrecision::millis)};
    std::string fields = fmt::format("35={}|34={}|49={}|52={}|56={}|{}", type, number, from, stamp, to, body);
    std::string message = fmt::format("8={}|9={}|{}", begin_string, fields.size(), fields);
    for (auto& byte : message) byte = byte == '|' ? '\x01' : byte;
    unsigned sum = 0;
    for (const auto byte : message) sum += static_cast<unsigned char>(byte);
    return message + fmt::format("10={:03}\x01", sum % 256);
}

[[nodiscard]] inline std::string fix44(std::string_view type, std::uint64_t number, std::string_view from,
                                       std::string_view to, std::string_view body) {
    return fix_text("FIX.4.4", type, number, from, to, body);
}

/// The Logon of a counterparty of HOUSE. more: further fields.
[[nodiscard]] inline std::string logon(std::uint64_t number, std::string_view from, std::string_view more = "") {
    return fix44("A", number, from, "HOUSE", fmt::format("98=0|108=30|{}", more));
}

}  // namespace millpond::fixd
