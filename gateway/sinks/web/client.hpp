#pragma once

#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/json_lines/counters.hpp"
#include "gateway/json_lines/line_runs.hpp"
#include "gateway/json_lines/send_progress.hpp"
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/web/settings.hpp"
#include "service/http/allowance.hpp"
#include "service/http/listener.hpp"
#include "service/http/stream.hpp"

namespace millpond::gateway::web {

/// Objects of the sink that every client uses.
struct ClientContext {
    const Settings& settings;
    json_lines::Counters& counters;
    const service::LogFunction& log;
    bool& called;  ///< Set when a client has work to do without an event.
    json_lines::LineRuns& runs;
};

/// A subscriber with a WebSocket. One message is in flight at a time, copied from the log; later lines wait in the log
/// or are conflated. Requests wait too: the sink does not read from a client that does not read. Without TLS, a message
/// goes to the kernel at once, past the operations of Beast, which then only reads, answers pings and closes.
///
/// Threads: the sink's thread.
/// Memory:  two messages of about 64 KiB, one request, and that of Subscriber.
class Client : public std::enable_shared_from_this<Client> {
public:
    /// Creates a client whose subscriber begins at the log's end.
    Client(const ClientContext& shared, http::Stream&& stream, const json_lines::Source& source);

    /// Completes the WebSocket handshake; the first message follows.
    void accept(const http::Listener::Head& head);

    /// Reads, sends and counts without blocking. False when the connection is over.
    [[nodiscard]] bool serve(std::int64_t now_ns);
    /// Sends the reason and closes, once the message in flight has been sent.
    void end(std::string_view reason);
    /// Closes the connection at once.
    void close();

    [[nodiscard]] json_lines::Subscriber& subscriber() noexcept { return subscriber_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
    [[nodiscard]] bool ending() const noexcept { return !reason_.empty(); }
    /// Whether something waits to be sent, except for the snapshot and a replay.
    [[nodiscard]] bool has_more() const noexcept {
        return !subscriber_.is_parked() && (writing_ || subscriber_.has_more());
    }

private:
    void read();
    void on_read(boost::beast::error_code error);
    void apply(std::int64_t now_ns);
    [[nodiscard]] bool can_send_now();
    /// Sends everything that waits, as one message.
    void send(std::int64_t now_ns);
    void write(std::string_view text);
    void sent();
    void on_written(boost::beast::error_code error);
    void end_if_stalled(std::int64_t now_ns);
    void send_close();

    const ClientContext& context_;
    boost::beast::websocket::stream<http::Stream, false> socket_;
    json_lines::Subscriber subscriber_;
    std::string peer_;
    boost::beast::flat_buffer input_;
    json_lines::SendProgress progress_;
    http::Allowance allowance_;
    bool open_{false};           // the WebSocket handshake is complete
    bool request_waits_{false};  // a whole request waits in input_
    bool writing_{false};        // a message is in flight
    bool close_sent_{false};     // the close frame is in flight
    bool over_{false};
    std::int64_t alive_ns_;
    std::int64_t ending_since_ns_{0};
    std::string reason_;
    std::size_t in_flight_{0};  // bytes of the message in flight
    std::uint64_t bytes_sent_{0};
    json_lines::Counted counted_;
};

}  // namespace millpond::gateway::web
