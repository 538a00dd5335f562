#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace millpond::fixd {

/// Latencies of the last thousand messages.
///
/// Threads: add on one; read on any.
class LastLatencies {
public:
    static constexpr std::size_t kMessages = 1'000;

    void add(std::int64_t nanos) noexcept {
        const auto at = count_.load(std::memory_order_relaxed);
        nanos_[at % kMessages].store(nanos, std::memory_order_relaxed);
        count_.store(at + 1, std::memory_order_release);  // sync "latency added": the load in read
    }

    struct Percentiles {
        std::size_t count{0};  ///< At most kMessages.
        std::int64_t p50{0};
        std::int64_t p90{0};
        std::int64_t p99{0};
        std::int64_t max{0};
    };
    [[nodiscard]] Percentiles read() const;

private:
    std::atomic<std::uint64_t> count_{0};
    std::array<std::atomic<std::int64_t>, kMessages> nanos_{};
};

/// The last error and the latencies of a session.
///
/// Threads: any; the latencies as LastLatencies says.
class SessionRecord {
public:
    struct Error {
        std::string text{};
        std::int64_t utc_ns{0};  ///< 0: there was none.
    };
    void set_error(std::string text, std::int64_t utc_ns);
    [[nodiscard]] Error error() const;
    [[nodiscard]] LastLatencies& latencies() noexcept { return latencies_; }

private:
    LastLatencies latencies_;
    mutable std::mutex lock_;
    Error error_;
};

/// The records of all sessions, by their names.
///
/// Threads: any.
class SessionRecords {
public:
    /// The record of this session; created if there is none.
    [[nodiscard]] std::shared_ptr<SessionRecord> of(std::string_view session);
    /// Removes all except those for which `stays` returns true.
    void keep(const std::function<bool(const std::string& session)>& stays);

private:
    std::mutex lock_;
    std::map<std::string, std::shared_ptr<SessionRecord>, std::less<>> records_;
};

}  // namespace millpond::fixd
