#pragma once

#include <cstdint>

#include "gateway/lines/subscriber.hpp"

namespace millpond::gateway::tcp {

/// What became of sending.
enum class Flow : std::uint8_t {
    idle,     ///< Everything is sent.
    blocked,  ///< The socket takes no more at the moment.
    broken,   ///< The connection is gone: drop the client.
};

/// A subscriber behind a socket that it knows only as a descriptor: lines go out from where they stand in the log.
///
/// Threads: one.
class Client {
public:
    Client(int socket, Delivery mode, const lines::LineLog& log, const lines::Standing& standing, std::int64_t now_ns)
        : socket_(socket), subscriber_(mode, log, standing), alive_ns_(now_ns) {}

    [[nodiscard]] int socket() const noexcept { return socket_; }
    [[nodiscard]] lines::Subscriber& subscriber() noexcept { return subscriber_; }
    [[nodiscard]] const lines::Subscriber& subscriber() const noexcept { return subscriber_; }

    /// Sends what the socket takes.
    Flow pump(std::int64_t now_ns);

    /// When bytes went out last, or there was nothing to send.
    [[nodiscard]] std::int64_t alive_ns() const noexcept { return alive_ns_; }
    [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

private:
    Flow send_text();
    Flow send_lines();

    int socket_;
    lines::Subscriber subscriber_;
    std::int64_t alive_ns_;
    std::uint64_t bytes_sent_{0};
};

}  // namespace millpond::gateway::tcp
