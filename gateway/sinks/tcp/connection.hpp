#pragma once

#include <cstdint>
#include <string>

#include "gateway/json_lines/counters.hpp"
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/json_lines/taken_watch.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/tcp/options.hpp"
#include "gateway/sinks/tcp/stream.hpp"
#include "gateway/sinks/tcp/watched.hpp"
#include "service/http/allowance.hpp"

namespace millpond::gateway::tcp {

/// Objects of the sink that every connection uses.
struct Shared {
    const Options& options;
    json_lines::Counters& counters;
    const service::Say& say;
    int epoll;
};

/// A client with its socket: reads its requests, sends when the socket is writable, and disconnects it with a reason if
/// that takes too long.
///
/// Threads: one.
class Connection : public Watched {
public:
    /// Waits for requests. said: bytes already received.
    Connection(const Shared& shared, Stream stream, std::string said, std::string peer, const json_lines::LineLog& log,
               const json_lines::Standing& standing, std::int64_t now_ns);
    ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Does what can be done without blocking and counts it. False when the connection is over.
    [[nodiscard]] bool serve(std::int64_t now_ns);

    [[nodiscard]] json_lines::Subscriber& subscriber() noexcept { return subscriber_; }
    [[nodiscard]] const json_lines::Subscriber& subscriber() const noexcept { return subscriber_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
    /// Whether the peer has closed its side of the connection.
    [[nodiscard]] bool is_half_closed() const noexcept { return deaf_; }

private:
    [[nodiscard]] bool pass_on(std::int64_t now_ns);
    void read_requests(std::int64_t now_ns);
    void obey_lines(std::int64_t now_ns);
    /// Sends as much as the socket accepts.
    [[nodiscard]] Flow pump(std::int64_t now_ns);
    [[nodiscard]] Flow send_text();
    [[nodiscard]] Flow send_lines();
    void end_if_stalled(Flow flow, std::int64_t now_ns);
    void watch_socket() noexcept;

    const Shared& shared_;
    Stream stream_;
    json_lines::Subscriber subscriber_;
    std::string peer_;
    std::string input_;
    bool deaf_{false};       // it sends no more requests
    std::int64_t alive_ns_;  // when bytes were last sent or acknowledged, or there was nothing to send
    std::uint64_t bytes_sent_{0};
    bool sent_since_rest_{false};
    std::int64_t ending_since_ns_{0};
    json_lines::TakenWatch taken_;
    http::Allowance allowance_;
    json_lines::Counted counted_;
};

}  // namespace millpond::gateway::tcp
