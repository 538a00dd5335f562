#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <millpond/feed/generated_feed.hpp>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// A generated feed at an even pace. The same options give the same datagrams at the same times.
class GeneratedSource final : public Source {
public:
    /// Interval of heartbeats between datagrams.
    static constexpr std::int64_t kHeartbeatNanos = 1'000'000'000;

    struct Options {
        feed::GeneratedFeed::Options feed{};
        double steps_per_second{1'000};  ///< Changes of one instrument's best bid or offer.
        std::uint64_t burst{1};          ///< Datagrams that are due at the same time; the average rate is the same.
        std::uint64_t max_steps{0};    ///< Changes of the market after which it ends, in complete datagrams; 0: never.
        std::int64_t begin_utc_ns{0};  ///< The venue's time of the first datagram.
    };

    /// Throws std::invalid_argument for options out of range.
    explicit GeneratedSource(const Options& options);

    [[nodiscard]] bool next(Outgoing& out) override;
    [[nodiscard]] double fraction() const override;

private:
    [[nodiscard]] std::uint32_t messages_in(std::span<const std::byte> datagram, std::uint64_t steps) const noexcept;

    Options options_;
    feed::GeneratedFeed feed_;
    std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes> buffer_{};
    std::uint64_t count_{0};     // datagrams with messages
    std::uint64_t position_{0};  // position on the schedule, in steps
    std::int64_t due_ns_{0};     // time of the current burst
    std::int64_t latest_due_ns_{0};
};

}  // namespace millpond::traffic
