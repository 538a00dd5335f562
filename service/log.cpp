#include "service/log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/formatter.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/json_string.hpp>

namespace millpond::service {
namespace {

constexpr std::string_view kTextPattern = "%Y-%m-%dT%H:%M:%S.%fZ %l %v";
/// Replaces a status line on a terminal.
constexpr std::string_view kEraseLine = "\r\033[K";

spdlog::level::level_enum level_of(Severity severity) {
    switch (severity) {
        case Severity::debug: return spdlog::level::debug;
        case Severity::info: return spdlog::level::info;
        case Severity::warning: return spdlog::level::warn;
        case Severity::error: return spdlog::level::err;
    }
    return spdlog::level::err;
}

/// {"time":"2026-01-02T03:04:05.678901Z","level":"info","message":"..."}
class JsonFormatter final : public spdlog::formatter {
public:
    void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
        const auto micros = std::chrono::time_point_cast<std::chrono::microseconds>(message.time);
        const auto fraction = micros.time_since_epoch().count() % 1'000'000;
        const auto level = spdlog::level::to_string_view(message.level);
        fmt::format_to(std::back_inserter(out), R"({{"time":"{:%Y-%m-%dT%H:%M:%S}.{:06}Z","level":"{}","message":{}}}
)",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(message.time)), fraction,
                       std::string_view{level.data(), level.size()},
                       core::json_string({message.payload.data(), message.payload.size()}));
    }
    [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
        return std::make_unique<JsonFormatter>();
    }
};

class OutSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit OutSink(Log::Out out) : out_(std::move(out)) {}

private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        out_(std::string{line.data(), line.size()});
    }
    void flush_() override {}
    Log::Out out_;
};

std::shared_ptr<spdlog::logger> make_logger(Severity least, LogFormat format, spdlog::sink_ptr sink,
                                            bool on_terminal = false) {
    if (format == LogFormat::json) {
        sink->set_formatter(std::make_unique<JsonFormatter>());
    } else {
        const auto pattern = std::string{on_terminal ? kEraseLine : ""}.append(kTextPattern);
        sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
    }
    auto logger = std::make_shared<spdlog::logger>("millpond", std::move(sink));
    logger->set_level(level_of(least));
    logger->flush_on(spdlog::level::debug);
    return logger;
}

}  // namespace

std::optional<std::uint64_t> RateLimit::admit(std::string_view cause, std::chrono::nanoseconds now, Severity severity,
                                              std::string_view text) {
    const auto found = causes_.find(cause);
    if (found == causes_.end()) {
        causes_.emplace(cause, Cause{now, 0, severity, std::string{text}, now});
        return 0;
    }
    auto& known = found->second;
    known.repeats = severity == Severity::error && text == known.newest && now - known.newest_at < kRepeatGap;
    known.severity = severity;
    known.newest = text;
    known.newest_at = now;
    if (now - known.admitted < (known.repeats ? kRepeatSpan : kSpan)) {
        ++known.suppressed;
        return std::nullopt;
    }
    known.admitted = now;
    return std::exchange(known.suppressed, 0);
}

std::vector<RateLimit::Left> RateLimit::leftovers(std::chrono::nanoseconds now) {
    std::vector<Left> result;
    for (auto& [cause, known] : causes_) {
        const auto due = known.repeats ? known.newest_at + kRepeatGap : known.admitted + kSpan;
        if (known.suppressed == 0 || now < due) continue;
        result.push_back({known.severity, known.newest, std::exchange(known.suppressed, 0)});
    }
    std::erase_if(causes_, [&](const auto& entry) { return now - entry.second.newest_at >= kRepeatGap; });
    return result;
}

Log::Log(Severity least, LogFormat format)
    : logger_(
          make_logger(least, format, std::make_shared<spdlog::sinks::stderr_sink_mt>(), isatty(STDERR_FILENO) == 1)) {}

Log::Log(Severity least, LogFormat format, Out out)
    : logger_(make_logger(least, format, std::make_shared<OutSink>(std::move(out)))) {}

Log::~Log() = default;

void Log::say(Severity severity, std::string_view cause, const std::string& text) {
    if (!logger_->should_log(level_of(severity))) return;
    const std::lock_guard lock{mutex_};
    const auto suppressed = limit_.admit(cause, std::chrono::nanoseconds{core::monotonic_nanos()}, severity, text);
    if (!suppressed) return;
    if (*suppressed == 0) {
        logger_->log(level_of(severity), text);
    } else {
        logger_->log(level_of(severity), "{} ({} like this suppressed before)", text, *suppressed);
    }
}

void Log::report_suppressed() {
    const std::lock_guard lock{mutex_};
    for (const auto& left : limit_.leftovers(std::chrono::nanoseconds{core::monotonic_nanos()})) {
        if (left.suppressed == 1) {
            logger_->log(level_of(left.severity), left.newest);
        } else {
            logger_->log(level_of(left.severity), "{} ({} like this suppressed before)", left.newest,
                         left.suppressed - 1);
        }
    }
}

}  // namespace millpond::service
