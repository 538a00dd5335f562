#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/json_lines/counters.hpp"
#include "gateway/json_lines/json_lines_sink.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/tcp/connection.hpp"
#include "gateway/sinks/tcp/listener.hpp"
#include "gateway/sinks/tcp/pending_connection.hpp"
#include "gateway/sinks/tcp/settings.hpp"

namespace millpond::gateway::tcp {

/// Sends one JSON line for each event to every TCP client; json_lines/request.hpp describes requests,
/// json_lines/subscriber.hpp slow clients.
class TcpSink final : public json_lines::JsonLinesSink {
public:
    /// Starts to listen. Throws std::system_error that names the address.
    TcpSink(const Settings& settings, ClientAccess access, service::LogFunction log);

    /// The listening address, with the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const override { return listener_.address(); }
    [[nodiscard]] const json_lines::Counters& counters() const noexcept { return counters_; }

    void step(std::int64_t monotonic_ns) override;
    void wait(std::chrono::nanoseconds max_wait) override;
    void finish() override;
    [[nodiscard]] std::string_view type() const noexcept override { return "tcp"; }
    void visit_metrics(const MetricVisitor& visit) const override {
        counters_.visit(visit);
        replays().visit(visit);
    }
    [[nodiscard]] SinkHealth health() const noexcept override { return health_of(counters_); }

private:
    void accept_all(std::int64_t now_ns);
    /// Stops watching the listening socket for a while: it stays readable after a failed accept, and the sink would
    /// spin.
    void pause_accepting(std::int64_t now_ns);
    void watch_listener(std::uint32_t events) const;
    void accept(Listener::Accepted accepted, std::int64_t now_ns);
    void poll_pending(std::int64_t now_ns);
    void admit(Stream stream, std::string received, const std::string& peer, std::int64_t now_ns);
    void log_rejected(std::string_view peer, std::string_view reason);
    /// Whether another client is accepted. If necessary, removes the oldest client that has closed its side: only a
    /// send would show whether it still reads.
    [[nodiscard]] bool can_accept();
    void remove(Connection& connection);
    /// Whether a step has work to do.
    [[nodiscard]] bool is_due(std::int64_t now_ns) const noexcept;

    Settings settings_;
    ClientAccess access_;
    service::LogFunction log_;
    Listener listener_;
    core::Descriptor epoll_;
    bool client_waits_{false};
    std::int64_t accepts_again_ns_{0};  // 0: the listening socket is watched
    bool called_{false};                // a client's socket has an event
    std::int64_t served_ns_{0};         // time when all clients were last served
    std::uint64_t served_{0};           // line up to which they were served
    json_lines::Counters counters_;
    ConnectionContext context_;
    std::vector<std::unique_ptr<PendingConnection>> pending_;  // the oldest first
    std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace millpond::gateway::tcp
