#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <millpond/feed/iex_snap.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/iex_history.hpp"
#include "apps/millpond/traffic/iex_snapshot_state.hpp"
#include "apps/millpond/traffic/stream_server.hpp"

namespace millpond::traffic {

/// A server of DEEP SNAP and DEEP+ SNAP snapshots, of the messages that have been published so far. It accepts every
/// token, and rejects other channels and sessions, and numbers that were not reached. A request does not name the feed:
/// if both have the session, the snapshot is of DEEP+.
///
/// Threads: one; counts on any.
/// Source:  iex_snap.hpp.
class IexSnapServer {
public:
    /// history: must outlive this. Throws std::system_error that names the address.
    IexSnapServer(const net::SocketAddress& listen, const IexHistory& history);

    /// Answers requests, and waits at most `timeout_ms` for one.
    void poll(int timeout_ms) { streams_.poll(timeout_ms); }

    [[nodiscard]] const net::SocketAddress& address() const noexcept { return streams_.address(); }
    [[nodiscard]] std::uint64_t requests() const noexcept { return requests_.load(std::memory_order_relaxed); }
    /// Snapshots sent.
    [[nodiscard]] std::uint64_t snapshots() const noexcept { return snapshots_.load(std::memory_order_relaxed); }

private:
    class Reply;

    /// The response to a request.
    [[nodiscard]] std::vector<std::byte> answer(std::span<const std::byte> request);

    /// A state of the messages since the history's restart of this number.
    struct Followed {
        IexSnapshotState state;
        std::uint64_t restart;
    };

    const IexHistory& history_;
    std::map<std::pair<std::uint16_t, std::uint32_t>, Followed> states_;  // by protocol and channel
    StreamServer streams_;
    std::atomic<std::uint64_t> requests_{0};
    std::atomic<std::uint64_t> snapshots_{0};
};

}  // namespace millpond::traffic
