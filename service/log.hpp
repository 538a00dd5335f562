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

#include "service/log_function.hpp"

namespace spdlog {
class logger;
}

namespace millpond::service {

enum class LogFormat : std::uint8_t { text, json };

/// Admits one message per second and cause, and counts the others. An error that repeats the one before within two
/// seconds, such as that of a full disk, is admitted once a minute.
///
/// Threads: one at a time.
class RateLimit {
public:
    struct Left {
        Severity severity;
        std::string newest;  ///< Text of the newest suppressed message.
        std::uint64_t suppressed;
    };

    /// Returns the number of messages of this cause that were suppressed since the last admitted one; nullopt if this
    /// one is suppressed too.
    [[nodiscard]] std::optional<std::uint64_t> admit(std::string_view cause, std::chrono::nanoseconds now,
                                                     Severity severity = Severity::info, std::string_view text = {});

    /// Returns each cause whose second is over with suppressed messages, once; not while an error repeats. Forgets
    /// quiet causes.
    [[nodiscard]] std::vector<Left> leftovers(std::chrono::nanoseconds now);

private:
    static constexpr std::chrono::nanoseconds kSpan = std::chrono::seconds{1};
    static constexpr std::chrono::nanoseconds kRepeatGap = std::chrono::seconds{2};  // more than a retry each second
    static constexpr std::chrono::nanoseconds kRepeatSpan = std::chrono::minutes{1};
    struct Cause {
        std::chrono::nanoseconds admitted;
        std::uint64_t suppressed;
        Severity severity;
        std::string newest;
        std::chrono::nanoseconds newest_at;
        bool repeats{false};
    };
    std::map<std::string, Cause, std::less<>> causes_;
};

/// The daemon's log, on standard error: one line of text or one JSON object per message, as RateLimit admits them.
/// Receive threads do not write to it.
///
/// Threads: any.
class Log {
public:
    /// Receives each line, in tests. Called under a lock.
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

    /// Logs the suppressed messages whose second is over. Call it about once a second, and at the end.
    void report_suppressed();

private:
    std::mutex mutex_;
    RateLimit limit_;
    std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace millpond::service
