#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/sink.hpp"
#include "gateway/sinks/tcp/client.hpp"
#include "gateway/sinks/tcp/line_log.hpp"
#include "gateway/sinks/tcp/standing.hpp"

namespace millpond::gateway::tcp {

struct Options {
    std::string name{"tcp"};
    net::SocketAddress listen{};  ///< Port 0: the kernel chooses, see TcpSink::address.
    Delivery mode{Delivery::every};
    std::size_t backlog{16'384};  ///< Lines, a power of two.
    std::size_t max_clients{1'024};
    std::size_t send_buffer{256U * 1024};  ///< Bytes that the kernel may hold for a client.
    std::chrono::nanoseconds stall{std::chrono::seconds{10}};
};

/// Written by the sink's thread, read on any.
struct Counters {
    core::Tally clients;  ///< Connected now.
    core::Tally accepted;
    core::Tally refused;   ///< Turned away because there are max_clients.
    core::Tally left;      ///< Closed by the client or the network.
    core::Tally stalled;   ///< Disconnected because they took nothing for too long.
    core::Tally overlong;  ///< Disconnected because of a request line that did not end.
    core::Tally bad_requests;
    core::Tally bytes;
    core::Tally delivered;  ///< These four: sums of the accounts of all clients, past ones included.
    core::Tally filtered;
    core::Tally conflated;
    core::Tally missed;

    /// Calls visit(name, help, tally) for each.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("clients", "Clients connected now.", clients);
        visitor("clients_accepted_total", "Clients that connected.", accepted);
        visitor("clients_refused_total", "Clients turned away because there were too many.", refused);
        visitor("clients_left_total", "Clients that closed the connection.", left);
        visitor("clients_stalled_total", "Clients disconnected because they took nothing for too long.", stalled);
        visitor("clients_overlong_total", "Clients disconnected because of an over-long request line.", overlong);
        visitor("bad_requests_total", "Request lines that were none.", bad_requests);
        visitor("bytes_total", "Bytes sent to clients.", bytes);
        visitor("client_delivered_total", "Events delivered, over all clients.", delivered);
        visitor("client_filtered_total", "Events of instruments that a client did not want, over all clients.",
                filtered);
        visitor("client_conflated_total", "Events replaced by newer ones, over all clients.", conflated);
        visitor("client_missed_total", "Events lost to slow clients, over all clients.", missed);
    }
};

/// One JSON line an event to every TCP client; request.hpp says what clients may ask for, client.hpp what they get when
/// they are slow. The sink itself is never slow: its log takes every event, and a client falls out of it alone.
class TcpSink final : public Sink {
public:
    /// Listens at once. Throws std::system_error that names the address.
    TcpSink(const Options& options, Say say);
    ~TcpSink() override;

    /// With the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const { return address_; }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

    [[nodiscard]] std::size_t room() const noexcept override { return kRound; }
    [[nodiscard]] Delivery mode() const noexcept override { return Delivery::every; }
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    Taken on(const feed::Quote& quote, std::uint64_t number) override;
    Taken on(const feed::Trade& trade, std::uint64_t number) override;
    Taken on(const feed::Status& status, std::uint64_t number) override;
    Taken on(const feed::Gap& gap, std::uint64_t number) override;
    Taken on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void wait(std::chrono::nanoseconds longest) override;
    void finish() override;
    [[nodiscard]] std::uint64_t held() const noexcept override { return 0; }
    [[nodiscard]] std::string_view type() const noexcept override { return "tcp"; }
    void visit_metrics(const MetricVisitor& visit) const override { counters_.visit(visit); }

private:
    static constexpr std::size_t kRound = 1'024;  ///< Events between two looks at the sockets.
    struct Connection;

    void listen();
    void accept_all(std::int64_t now_ns);
    void welcome(int socket, std::int64_t now_ns);
    void read_requests(Connection& connection);
    void obey_lines(Connection& connection);
    /// False when the connection is over.
    bool serve(Connection& connection, std::int64_t now_ns);
    void watch(Connection& connection);
    void add_up(Connection& connection);
    void find_slowest() noexcept;
    [[nodiscard]] Line& append(LineKind kind, feed::InstrumentId id, std::uint64_t events = 1);

    Options options_;
    Say say_;
    net::SocketAddress address_;
    int epoll_{-1};
    int listener_{-1};
    bool somebody_knocks_{false};
    LineLog log_;
    std::uint64_t slowest_{0};  // no client stands before this line
    Standing standing_;
    std::vector<std::unique_ptr<Connection>> connections_;
    Counters counters_;
};

}  // namespace millpond::gateway::tcp
