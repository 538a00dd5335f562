#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/sink.hpp"
#include "gateway/sinks/tcp/connection.hpp"
#include "gateway/sinks/tcp/counters.hpp"
#include "gateway/sinks/tcp/line_log.hpp"
#include "gateway/sinks/tcp/listener.hpp"
#include "gateway/sinks/tcp/options.hpp"
#include "gateway/sinks/tcp/standing.hpp"

namespace millpond::gateway::tcp {

/// One JSON line an event to every TCP client; request.hpp says what clients may ask for, client.hpp what they get when
/// they are slow. The sink itself is never slow: its log takes every event, and a client falls out of it alone.
class TcpSink final : public Sink {
public:
    /// Listens at once. Throws std::system_error that names the address.
    TcpSink(const Options& options, Say say);
    ~TcpSink() override;

    /// With the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const { return listener_.address(); }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

    [[nodiscard]] std::size_t room() const noexcept override { return kRound; }
    [[nodiscard]] Delivery mode() const noexcept override { return Delivery::every; }
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    void board(const feed::Status& status, std::uint64_t number) override;
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

    void accept_all(std::int64_t now_ns);
    void welcome(const Listener::Accepted& accepted, std::int64_t now_ns);
    /// Whether a step would find anything to do.
    [[nodiscard]] bool is_due(std::int64_t now_ns) const noexcept;
    void find_slowest() noexcept;
    void make_room();
    [[nodiscard]] Line& append(LineKind kind, feed::InstrumentId id, std::uint64_t events = 1);

    Options options_;
    Say say_;
    Listener listener_;
    int epoll_;
    bool somebody_knocks_{false};
    bool called_{false};         // a client's socket has something to say
    std::int64_t served_ns_{0};  // when all clients were looked at last
    std::uint64_t served_{0};    // up to which line
    LineLog log_;
    std::uint64_t slowest_{0};  // no client stands before this line
    Standing standing_;
    Counters counters_;
    Shared shared_;
    std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace millpond::gateway::tcp
