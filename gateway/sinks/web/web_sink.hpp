#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/json_lines/counters.hpp"
#include "gateway/json_lines/json_lines_sink.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/web/settings.hpp"
#include "gateway/sinks/web/trade_statistics.hpp"
#include "service/http/page.hpp"

namespace millpond::gateway::web {

/// Serves JSON lines to WebSocket clients at /ws, current quotes at /api/quotes, names at /api/symbols, one
/// instrument's trades of the session at /api/instruments, and the page's files. json_lines/request.hpp describes
/// requests, json_lines/subscriber.hpp slow clients.
class WebSink final : public json_lines::JsonLinesSink {
public:
    /// Starts to listen. pages: other pages to serve; acts: answers POST requests, if not empty. Both are called on the
    /// sink's thread. Throws std::system_error that names the address.
    WebSink(const Settings& settings, ClientAccess access, http::Pages pages, service::LogFunction log,
            http::Acts acts = {});
    ~WebSink() override;

    /// The listening address, with the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const override;
    [[nodiscard]] const json_lines::Counters& counters() const noexcept { return counters_; }

    using JsonLinesSink::on;
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) override;
    Admission on(const feed::Trade& trade, std::uint64_t number) override;
    Admission on(const feed::TradeBreak& broken, std::uint64_t number) override;
    Admission on(const feed::Gap& gap, std::uint64_t number) override;
    Admission on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void wait(std::chrono::nanoseconds max_wait) override;
    void finish() override;
    [[nodiscard]] std::string_view type() const noexcept override { return "web"; }
    void visit_metrics(const MetricVisitor& visit) const override {
        counters_.visit(visit);
        replays().visit(visit);
    }
    [[nodiscard]] SinkHealth health() const noexcept override { return health_of(counters_); }

private:
    struct Network;

    [[nodiscard]] http::Page page(const http::Request& request) const;
    [[nodiscard]] http::Page quotes(const http::Request& request) const;
    /// Whether an instrument has this symbol.
    [[nodiscard]] bool is_named(std::string_view symbol) const;
    [[nodiscard]] http::Page symbols(const http::Request& request) const;
    [[nodiscard]] http::Page instruments(const http::Request& request) const;
    /// Appends one instrument of /api/instruments.
    void append_instrument(std::string& body, feed::InstrumentId id) const;
    /// The channel of its book, quote or state; nullopt if it has none of them yet.
    [[nodiscard]] std::optional<std::uint16_t> channel(feed::InstrumentId id) const;
    /// The request's symbol. Throws http::BadRequest if it is empty.
    [[nodiscard]] std::optional<std::string> symbol_of(const http::Request& request) const;
    void log_refused(std::string_view peer, std::string_view reason);
    /// Runs ready handlers of the network; returns whether there were any.
    bool poll_network();
    void serve_all(std::int64_t now_ns);

    Settings settings_;
    ClientAccess access_;
    http::Pages pages_;
    http::Acts acts_;
    service::LogFunction log_;
    json_lines::Counters counters_;
    const json_lines::DepthBooks& books_;
    TradeStatistics trades_;
    std::vector<feed::Venue> venues_;  // by instrument
    bool called_{false};
    std::int64_t served_ns_{0};
    std::uint64_t served_{0};
    std::unique_ptr<Network> network_;
};

}  // namespace millpond::gateway::web
