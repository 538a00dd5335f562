#pragma once

#include <cstdint>
#include <string>

#include "gateway/lines/counters.hpp"
#include "gateway/sink.hpp"
#include "gateway/sinks/tcp/client.hpp"
#include "gateway/sinks/tcp/options.hpp"

namespace millpond::gateway::tcp {

/// What every connection of a sink needs, and the sink owns.
struct Shared {
    const Options& options;
    lines::Counters& counters;
    const Say& say;
    int epoll;
};

/// A client on its socket: reads its requests, sends when the socket takes something, and ends it with a reason when
/// that takes too long.
///
/// Threads: one.
class Connection {
public:
    /// Owns `socket` from here on and waits for its requests.
    Connection(const Shared& shared, int socket, std::string peer, const lines::LineLog& log,
               const lines::Standing& standing, std::int64_t now_ns);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Remembers what epoll said of the socket.
    void note(std::uint32_t events) noexcept;

    /// Does what can be done without blocking and counts it. False when the connection is over.
    [[nodiscard]] bool serve(std::int64_t now_ns);

    [[nodiscard]] Client& client() noexcept { return client_; }
    [[nodiscard]] const Client& client() const noexcept { return client_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }

private:
    [[nodiscard]] bool pass_on(std::int64_t now_ns);
    void read_requests();
    void obey_lines();
    void end_if_stalled(Flow flow, std::int64_t now_ns);
    void watch() noexcept;

    const Shared& shared_;
    Client client_;
    std::string peer_;
    std::string input_;
    bool readable_{false};
    bool writable_{true};
    bool broken_{false};
    bool deaf_{false};  // it sends no more requests
    std::uint32_t watched_{0};
    std::int64_t ending_since_ns_{0};
    lines::Counted counted_;
};

}  // namespace millpond::gateway::tcp
