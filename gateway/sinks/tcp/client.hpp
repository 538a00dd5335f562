#pragma once

#include <cstdint>
#include <utility>

#include "gateway/json_lines/subscriber.hpp"
#include "gateway/sinks/tcp/stream.hpp"

namespace millpond::gateway::tcp {

/// A subscriber behind a stream: lines go out from where they stand in the log.
///
/// Threads: one.
class Client {
public:
    Client(Stream stream, Delivery mode, const lines::LineLog& log, const lines::Standing& standing,
           std::int64_t now_ns)
        : stream_(std::move(stream)), subscriber_(mode, log, standing), alive_ns_(now_ns) {}

    [[nodiscard]] Stream& stream() noexcept { return stream_; }
    [[nodiscard]] lines::Subscriber& subscriber() noexcept { return subscriber_; }
    [[nodiscard]] const lines::Subscriber& subscriber() const noexcept { return subscriber_; }

    /// Sends what the socket takes.
    Flow pump(std::int64_t now_ns);

    /// The peer has taken something of what the kernel holds.
    void note_alive(std::int64_t now_ns) noexcept { alive_ns_ = now_ns; }
    /// When bytes went out last, or the peer took some, or there was nothing to send.
    [[nodiscard]] std::int64_t alive_ns() const noexcept { return alive_ns_; }
    [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

private:
    Flow send_text();
    Flow send_lines();

    Stream stream_;
    lines::Subscriber subscriber_;
    std::int64_t alive_ns_;
    std::uint64_t bytes_sent_{0};
    bool sent_since_rest_{false};
};

}  // namespace millpond::gateway::tcp
