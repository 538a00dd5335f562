#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/core/descriptor.hpp>
#include <millpond/feed/iex_gap_fill.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/iex_history.hpp"
#include "apps/millpond/traffic/stream_server.hpp"

namespace millpond::traffic {

/// A gap fill server for IEX-TP, by UDP and by TCP at the same port. It sends messages that have been published so far.
/// Invalid requests, and those for other sessions, are ignored, and end a connection.
///
/// Threads: one; counts on any.
/// Source:  iex_gap_fill.hpp.
class IexGapFillServer {
public:
    /// history: must outlive this. Throws std::system_error that names the address.
    IexGapFillServer(const net::SocketAddress& listen, const IexHistory& history);

    /// Answers requests, and waits at most `timeout_ms` for one.
    void poll(int timeout_ms);

    [[nodiscard]] const net::SocketAddress& address() const noexcept { return streams_.address(); }
    /// Datagrams with requests, and requests on connections.
    [[nodiscard]] std::uint64_t requests() const noexcept { return requests_.load(std::memory_order_relaxed); }
    /// Messages sent.
    [[nodiscard]] std::uint64_t answered() const noexcept { return answered_.load(std::memory_order_relaxed); }

private:
    class Reply;

    void answer(const feed::IexGapFillRequest& request, const net::SocketAddress& to);
    void send(std::span<const std::byte> segment, const net::SocketAddress& to) const;
    /// Writes a segment with the first known messages of a range that fit. Returns the number after the last one; 0 if
    /// there is none.
    [[nodiscard]] std::uint64_t write_segment(std::uint16_t protocol, const feed::IexSession& session,
                                              const feed::IexRange& range, std::span<std::byte> buffer,
                                              std::span<const std::byte>& segment);

    const IexHistory& history_;
    StreamServer streams_;
    core::Descriptor datagrams_;
    std::atomic<std::uint64_t> requests_{0};
    std::atomic<std::uint64_t> answered_{0};
};

}  // namespace millpond::traffic
