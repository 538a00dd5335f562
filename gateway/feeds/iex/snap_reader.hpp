#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/iex_packet.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::gateway::iex {

/// Reads snapshots from a DEEP SNAP or DEEP+ SNAP server, one after the other, each on a connection of its own.
///
/// Threads: one; counters on any.
/// Memory:  192 KiB in the constructor; during a DEEP+ snapshot its orders, at most `max_orders`.
/// Source:  iex_snap.hpp; DEEP SNAP 1.6, page 4 (the connection, 10 seconds without a byte).
class SnapReader {
public:
    struct Options {
        net::SocketAddress server{};  ///< Empty: none.
        std::string token{};
        std::uint16_t protocol{0};    ///< Message protocol of the feed.
        std::string quota_file{};     ///< File that counts requests, before the number of the channel.
        std::uint64_t max_orders{0};  ///< Orders of a DEEP+ snapshot; one with more is refused.
        std::int64_t silence_ns{10'000'000'000};
        [[nodiscard]] bool is_set() const noexcept { return !server.empty(); }
    };

    explicit SnapReader(const Options& options);

    /// Reads a snapshot of this session that has reached message `minimum`. visit(message): called for each message in
    /// it, orders last and by their priority; throws std::runtime_error to refuse it. goes_on(): asked several times a
    /// second; if it returns false, the snapshot is cancelled. Returns the number of the first message that the
    /// snapshot does not have; 0 if it was cancelled. Throws std::runtime_error with the reason for a snapshot that
    /// cannot be had or is not one.
    std::uint64_t read(const feed::IexSession& session, std::uint64_t minimum,
                       const std::function<void(std::span<const std::byte>)>& visit,
                       const std::function<bool()>& goes_on);

    [[nodiscard]] std::string server() const { return options_.server.to_string(); }
    /// Pause until the next request: it grows with the number of the day's requests, so that those suffice for a day in
    /// which each is needed, and is kRejectedNs after an answer that another request would get too.
    [[nodiscard]] std::int64_t pause_ns() const noexcept { return pause_ns_; }
    static constexpr std::int64_t kPerRequestNs = 70'000'000;  // 1 to 1,000 times this are 9.7 hours
    static constexpr std::int64_t kRejectedNs = 300'000'000'000;
    /// Snapshots that were read to their end.
    [[nodiscard]] const core::Tally& snapshots() const noexcept { return snapshots_; }
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        visitor("snap_requests", "Snapshots that were requested from the SNAP server.", requests_);
    }

private:
    Options options_;
    std::vector<std::byte> received_;
    std::int64_t pause_ns_{0};
    core::Tally snapshots_;
    core::Tally requests_;
};

}  // namespace millpond::gateway::iex
