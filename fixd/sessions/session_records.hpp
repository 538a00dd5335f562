#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    /// Percentiles of those that were added since the count `seen`, at most kMessages; sets `seen` to the present
    /// count.
    [[nodiscard]] Percentiles read_since(std::uint64_t& seen) const;

private:
    [[nodiscard]] Percentiles read(std::uint64_t first, std::uint64_t end) const;

    std::atomic<std::uint64_t> count_{0};
    std::array<std::atomic<std::int64_t>, kMessages> nanos_{};
};

/// The last error, the rejected messages and the latencies of a session.
///
/// Threads: any; the latencies as LastLatencies says.
class SessionRecord {
public:
    struct Error {
        std::string text{};
        std::int64_t utc_ns{0};  ///< 0: there was none.
    };
    /// Messages that we rejected for one reason.
    struct Rejection {
        std::string reason{};
        std::string newest{};  ///< Log line of the newest.
        std::uint64_t messages{0};
        std::int64_t first_utc_ns{0};  ///< Since the last pause of kQuietNs.
        std::int64_t last_utc_ns{0};
        std::int64_t second_began_ns{0};  ///< Start of the second that `texts` counts.
        std::uint64_t texts{0};
        std::uint64_t without_text{0};  ///< Since the newest text.
    };
    /// How often something happened, and the newest.
    struct Occurrences {
        std::uint64_t count{0};
        std::string newest{};
        std::int64_t newest_utc_ns{0};  ///< 0: there was none.
    };
    /// Time after the newest rejection until its reason is no longer a finding.
    static constexpr std::int64_t kQuietNs = 15LL * 60 * 1'000'000'000;
    static constexpr std::size_t kMaxReasons = 64;
    static constexpr std::uint64_t kMaxTextsPerSecond = 16;  ///< For each reason.

    /// Counts a rejection. Returns the number of rejections without text since the last one with text, or nullopt if
    /// the rate limit leaves out the text of this one.
    [[nodiscard]] std::optional<std::uint64_t> count_rejection(std::string_view reason, std::int64_t utc_ns);
    /// Sets the log line of the newest rejection with this reason, after count_rejection.
    void set_newest(std::string_view reason, std::string text);
    /// The reasons with a rejection in the last kQuietNs.
    [[nodiscard]] std::vector<Rejection> rejections(std::int64_t utc_ns) const;
    /// Adds a gap that was found, with a ResendRequest for it.
    void add_gap(std::string text, std::int64_t utc_ns) { add(gaps_, std::move(text), utc_ns); }
    [[nodiscard]] Occurrences gaps() const { return read(gaps_); }
    /// Adds a Reject that the counterparty sent.
    void add_peer_reject(std::string text, std::int64_t utc_ns) { add(peer_rejects_, std::move(text), utc_ns); }
    [[nodiscard]] Occurrences peer_rejects() const { return read(peer_rejects_); }
    /// Sets the heartbeat interval that was logged. Returns false if it is unchanged.
    [[nodiscard]] bool set_heartbeat(std::int64_t seconds);
    void set_error(std::string text, std::int64_t utc_ns);
    [[nodiscard]] Error error() const;
    [[nodiscard]] LastLatencies& latencies() noexcept { return latencies_; }

private:
    void add(Occurrences& to, std::string text, std::int64_t utc_ns);
    [[nodiscard]] Occurrences read(const Occurrences& from) const;

    LastLatencies latencies_;
    mutable std::mutex lock_;
    Error error_;
    std::vector<Rejection> rejections_;
    Occurrences peer_rejects_;
    Occurrences gaps_;
    std::int64_t heartbeat_seconds_{0};
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
