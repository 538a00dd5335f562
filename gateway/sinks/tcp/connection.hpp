#pragma once

#include <cstdint>
#include <string>

#include "gateway/json_lines/counters.hpp"
#include "gateway/json_lines/send_progress.hpp"
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/tcp/stream.hpp"
#include "gateway/sinks/tcp/watched.hpp"
#include "service/http/allowance.hpp"

namespace millpond::gateway::tcp {

/// Objects of the sink that every connection uses.
struct ConnectionContext {
    const Settings& settings;
    json_lines::Counters& counters;
    const service::LogFunction& log;
    int epoll;
    bool& called;  ///< Set if a connection has more to send though its socket is not full.
};

/// A client and its socket. Reads requests, sends while the socket is writable, and disconnects a client that stalls,
/// with a reason.
///
/// Threads: one.
class Connection : public Watched {
public:
    /// Starts with the requests in `received`, bytes that were already received.
    Connection(const ConnectionContext& shared, Stream stream, std::string received, std::string peer,
               const json_lines::Source& source, std::int64_t now_ns);
    ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Reads, sends and counts without blocking. False when the connection is over.
    [[nodiscard]] bool serve(std::int64_t now_ns);

    [[nodiscard]] json_lines::Subscriber& subscriber() noexcept { return subscriber_; }
    [[nodiscard]] const json_lines::Subscriber& subscriber() const noexcept { return subscriber_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
    /// Whether the peer has closed its side of the connection.
    [[nodiscard]] bool is_half_closed() const noexcept { return read_closed_; }

private:
    [[nodiscard]] bool pass_on(std::int64_t now_ns);
    void read_requests(std::int64_t now_ns);
    void apply_requests(std::int64_t now_ns);
    /// Sends as much as the socket accepts, and of pending items about kMaxPendingBytes bytes.
    [[nodiscard]] Flow pump(std::int64_t now_ns);
    [[nodiscard]] Flow send_text();
    [[nodiscard]] Flow send_lines();
    void end_if_stalled(Flow flow, std::int64_t now_ns);
    void watch_socket() noexcept;

    const ConnectionContext& context_;
    Stream stream_;
    json_lines::Subscriber subscriber_;
    std::string peer_;
    std::string input_;
    bool read_closed_{false};  // the client has closed its side and sends no more requests
    std::int64_t alive_ns_;    // last time when bytes were sent or acknowledged, or when none waited
    std::uint64_t bytes_sent_{0};
    bool sent_since_rest_{false};
    std::int64_t ending_since_ns_{0};
    json_lines::SendProgress progress_;
    http::Allowance allowance_;
    json_lines::Counted counted_;
};

}  // namespace millpond::gateway::tcp
