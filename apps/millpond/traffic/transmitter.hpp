#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <millpond/net/udp_sender.hpp>

#include "apps/millpond/traffic/clock.hpp"
#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// Counts of a run.
struct Sent {
    std::uint64_t datagrams{0};
    std::uint64_t bytes{0};
    std::uint64_t messages{0};
    std::uint64_t failed{0};      ///< Datagrams that the kernel refused permanently and that were not sent.
    std::uint64_t waits{0};       ///< Times the kernel's buffers were full; the datagram was sent later.
    std::uint64_t late{0};        ///< Datagrams that left more than Transmitter::kOnTime after they were due.
    std::int64_t max_late_ns{0};  ///< Maximum delay.
    std::int64_t elapsed_ns{0};
    double fraction{-1.0};  ///< Progress through the source; negative if unknown.
};

/// Sends a source's datagrams at their times. All datagrams that are due are sent together; if the machine falls
/// behind, late datagrams are sent in bursts until it has caught up. No datagram is skipped.
///
/// Threads: one, except `stop`.
class Transmitter {
public:
    struct Options {
        double speed{1.0};      ///< 2: twice as fast as the times of the source; 0: without waiting.
        std::size_t batch{32};  ///< Datagrams in one call of the sender, 1 to 1024.
    };
    static constexpr std::int64_t kOnTime = 1'000'000;
    static constexpr std::int64_t kReportEvery = 100'000'000;
    static constexpr std::int64_t kLongWait = 10'000'000'000;

    /// Throws std::invalid_argument for options out of range. `sender` and `clock` must outlive this.
    Transmitter(net::UdpSender& sender, Clock& clock, const Options& options);

    /// Called about every kReportEvery and once at the end of each run.
    void on_progress(std::function<void(const Sent&)> report) { report_ = std::move(report); }

    /// Called before a wait of more than kLongWait until the next datagram, with its nanoseconds.
    void on_long_wait(std::function<void(std::int64_t)> report) { report_wait_ = std::move(report); }

    /// Sends the whole source, starting now. False if `stop` ended it.
    bool run(Source& source, const std::atomic<bool>& stop);

    /// Counts of all runs.
    [[nodiscard]] const Sent& sent() const noexcept { return sent_; }

private:
    struct Due {
        std::int64_t time;
        std::size_t size;
        std::uint32_t messages;
    };

    bool wait(std::int64_t due, const Source& source, const std::atomic<bool>& stop);
    void add(const Outgoing& datagram, std::int64_t due);
    bool flush(const std::atomic<bool>& stop);
    void account(std::size_t first, std::size_t count, std::int64_t now) noexcept;
    void handle_refusal(std::uint64_t errors_before, std::size_t& done) noexcept;
    void report(const Source& source, bool always);

    net::UdpSender& sender_;
    Clock& clock_;
    Options options_;
    std::function<void(const Sent&)> report_;
    std::function<void(std::int64_t)> report_wait_;
    std::int64_t began_;
    std::int64_t report_at_{0};
    std::vector<std::byte> bytes_;  // concatenated datagrams to be sent
    std::vector<Due> waiting_;
    std::vector<std::span<const std::byte>> spans_;
    Sent sent_;
};

}  // namespace millpond::traffic
