#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/say.hpp"

namespace spdlog {
class logger;
}

namespace millpond::service {

enum class LogFormat : std::uint8_t { text, json };

/// Lets one message a second and cause through and counts the others.
///
/// Threads: one at a time.
class RateLimit {
public:
    struct Left {
        Severity severity;
        std::string newest;  ///< The text of the newest of those suppressed.
        std::uint64_t suppressed;
    };

    /// The number of messages of this cause suppressed since the last one let through; empty when this one is
    /// suppressed too.
    [[nodiscard]] std::optional<std::uint64_t> admit(std::string_view cause, std::chrono::nanoseconds now,
                                                     Severity severity = Severity::info, std::string_view text = {});

    /// Causes whose second is over with messages suppressed, each given once. Forgets quiet causes.
    [[nodiscard]] std::vector<Left> leftovers(std::chrono::nanoseconds now);

private:
    static constexpr std::chrono::nanoseconds kSpan = std::chrono::seconds{1};
    struct Cause {
        std::chrono::nanoseconds admitted;
        std::uint64_t suppressed;
        Severity severity{Severity::info};
        std::string newest{};
    };
    std::map<std::string, Cause, std::less<>> causes_;
};

/// The gateway's log, on standard error: one line of text or one JSON object a message, at most one a second and cause.
/// No thread on the path of a quote writes to it.
///
/// Threads: any.
class Log {
public:
    /// Where lines go; for tests. Called under a lock.
    using Out = std::function<void(const std::string& line)>;

    Log(Severity least, LogFormat format);
    Log(Severity least, LogFormat format, Out out);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    /// cause: key by which messages are counted together, such as "feed a.gap".
    void say(Severity severity, std::string_view cause, const std::string& text);

    template <class... Args>
    void info(std::string_view cause, fmt::format_string<Args...> format, Args&&... args) {
        say(Severity::info, cause, fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void warning(std::string_view cause, fmt::format_string<Args...> format, Args&&... args) {
        say(Severity::warning, cause, fmt::format(format, std::forward<Args>(args)...));
    }

    /// Tells what has been suppressed and is over; to be called about once a second, and at the end.
    void tell_suppressed();

private:
    std::mutex mutex_;
    RateLimit limit_;
    std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace millpond::service
