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
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/json_lines/taken_watch.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/web/options.hpp"
#include "service/http/allowance.hpp"
#include "service/http/listener.hpp"
#include "service/http/stream.hpp"

namespace millpond::gateway::web {

/// Objects of the sink that every client uses.
struct Shared {
    const Options& options;
    json_lines::Counters& counters;
    const service::Say& say;
    bool& called;  ///< Set when a client has work to do without an event.
    json_lines::LineRuns& runs;
};

/// A subscriber with a WebSocket. One message is in flight at a time, copied from the log; later lines wait in the log
/// or are conflated. Requests wait too, so that nothing is read from a client that does not read. Without TLS, a
/// message goes to the kernel at once, past the operations of Beast, which then only reads, answers pings and closes.
///
/// Threads: the sink's.
/// Memory:  two messages of about 64 KiB, one request, and that of Subscriber.
class Client : public std::enable_shared_from_this<Client> {
public:
    /// The subscriber begins at the log's end.
    Client(const Shared& shared, http::Stream&& stream, const json_lines::LineLog& log,
           const json_lines::Standing& standing);

    /// Agrees to the WebSocket; the first message follows.
    void accept(const http::Listener::Head& head);

    /// Does what can be done without blocking and counts it. False when the connection is over.
    [[nodiscard]] bool serve(std::int64_t now_ns);
    /// Sends the reason and closes, once the message in flight has been sent.
    void end(std::string_view reason);
    /// Closes the connection at once.
    void close();

    [[nodiscard]] json_lines::Subscriber& subscriber() noexcept { return subscriber_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
    [[nodiscard]] bool ending() const noexcept { return !reason_.empty(); }
    /// Whether something waits to be sent, the board aside.
    [[nodiscard]] bool has_more() const noexcept { return writing_ || subscriber_.has_more(); }

private:
    void read();
    void on_read(boost::beast::error_code error);
    void obey(std::int64_t now_ns);
    [[nodiscard]] bool can_send_now();
    /// What waits, as one message.
    void send(std::int64_t now_ns);
    void write(std::string_view text);
    void sent();
    void on_written(boost::beast::error_code error);
    void end_if_stalled(std::int64_t now_ns);
    void say_goodbye();

    const Shared& shared_;
    boost::beast::websocket::stream<http::Stream, false> socket_;
    json_lines::Subscriber subscriber_;
    std::string peer_;
    boost::beast::flat_buffer input_;
    json_lines::TakenWatch taken_;
    http::Allowance allowance_;
    bool open_{false};     // the WebSocket is agreed
    bool asked_{false};    // a whole request waits in input_
    bool writing_{false};  // a message is on its way
    bool said_{false};     // the close frame is on its way
    bool over_{false};
    std::int64_t alive_ns_;
    std::int64_t ending_since_ns_{0};
    std::string reason_;
    std::size_t in_flight_{0};  // bytes of the message on its way
    std::uint64_t bytes_sent_{0};
    json_lines::Counted counted_;
};

}  // namespace millpond::gateway::web
