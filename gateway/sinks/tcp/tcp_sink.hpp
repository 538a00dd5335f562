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
#include "gateway/json_lines/line_sink.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/tcp/applicant.hpp"
#include "gateway/sinks/tcp/connection.hpp"
#include "gateway/sinks/tcp/listener.hpp"
#include "gateway/sinks/tcp/options.hpp"

namespace millpond::gateway::tcp {

/// One JSON line per event to every TCP client; json_lines/request.hpp describes requests,
/// json_lines/subscriber.hpp slow clients.
class TcpSink final : public json_lines::LineSink {
public:
    /// Listens at once. Throws std::system_error that names the address.
    TcpSink(const Options& options, service::Say say);

    /// With the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const override { return listener_.address(); }
    [[nodiscard]] const json_lines::Counters& counters() const noexcept { return counters_; }

    void step(std::int64_t monotonic_ns) override;
    void wait(std::chrono::nanoseconds longest) override;
    void finish() override;
    [[nodiscard]] std::string_view type() const noexcept override { return "tcp"; }
    void visit_metrics(const MetricVisitor& visit) const override { counters_.visit(visit); }

private:
    void accept_all(std::int64_t now_ns);
    /// Stops watching the listening socket for a while: it stays readable, and the sink would spin.
    void pause_accepting(std::int64_t now_ns);
    void watch_listener(std::uint32_t events) const;
    void take(Listener::Accepted accepted, std::int64_t now_ns);
    void look_at_applicants(std::int64_t now_ns);
    void admit(Stream stream, std::string said, const std::string& peer, std::int64_t now_ns);
    void say_refused(std::string_view peer, std::string_view reason);
    /// Whether another client is accepted. If necessary, closes the oldest client that has closed its side: only a send
    /// would show whether it still reads.
    [[nodiscard]] bool has_room();
    void part_from(Connection& connection);
    /// Whether a step has work to do.
    [[nodiscard]] bool is_due(std::int64_t now_ns) const noexcept;

    Options options_;
    service::Say say_;
    Listener listener_;
    core::Descriptor epoll_;
    bool client_waits_{false};
    std::int64_t accepts_again_ns_{0};  // 0: the listening socket is watched
    bool called_{false};                // an event of a client's socket is pending
    std::int64_t served_ns_{0};         // when all clients were last served
    std::uint64_t served_{0};           // up to which line
    json_lines::Counters counters_;
    Shared shared_;
    std::vector<std::unique_ptr<Applicant>> applicants_;  // the oldest first
    std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace millpond::gateway::tcp
