#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <millpond/metrics/histogram_snapshot.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/clients_page.hpp"
#include "gateway/health/monitor.hpp"
#include "gateway/health/recorder.hpp"
#include "gateway/metrics_page.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/receive/receive_log.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/sink_set.hpp"
#include "service/event_log.hpp"
#include "service/history.hpp"
#include "service/history_files.hpp"
#include "service/http/reload_page.hpp"
#include "service/http/server.hpp"
#include "service/log.hpp"
#include "service/reloader.hpp"

namespace millpond::gateway {

/// Sums over all feeds and rings, for the status line.
struct Totals {
    std::uint64_t datagrams{0};
    std::uint64_t quotes{0};
    std::uint64_t missing{0};  ///< Missing sequence numbers.
    std::uint64_t malformed{0};
    std::uint64_t kernel_drops{0};
    metrics::HistogramSnapshot wire;
};

/// A gateway: receive threads with their rings, sinks and metrics. The constructor opens everything, start() runs it.
///
/// Threads: one, which calls watch a few times a second; reconfigure on one other.
class Gateway {
public:
    /// config: complete(). Throws exceptions derived from std::exception with one precise sentence, and leaves
    /// nothing open.
    Gateway(const Config& config, service::Log& log);
    /// Stops everything: receive threads first, then sinks, then the rings, whose names it removes.
    ~Gateway();
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;

    void start();
    /// Logs notices of receive threads, sets the date at each exchange, and checks the health of everything.
    void watch();

    /// Replaces the sinks (SinkSet::replace), without touching rings and receive threads. Refuses changes in `next`
    /// that need a restart. Throws ConfigError, with nothing changed, for secrets and certificates that cannot be read,
    /// and for a configuration that cannot run.
    Reloaded reconfigure(const Config& next);
    [[nodiscard]] service::Reloader& reloader() noexcept { return reloader_; }
    [[nodiscard]] http::ReloadPage& reload_page() noexcept { return reload_page_; }

    void read_totals(Totals& totals) const;
    /// Logs a reload that changed nothing, as an event.
    void note_failed_reload(std::string_view text);
    /// Serves /metrics, /health, /api/health, /api/clients, /api/history and /api/events; on any thread.
    [[nodiscard]] http::Page page(const http::Request& request) const;
    /// State at the last watch(); on any thread.
    [[nodiscard]] std::shared_ptr<const health::State> health() const { return monitor_->state(); }
    [[nodiscard]] const service::History& history() const noexcept { return *history_; }
    [[nodiscard]] const service::EventLog& events() const noexcept { return events_; }
    [[nodiscard]] const std::vector<std::unique_ptr<Consumer>>& sinks() const noexcept { return sinks_.consumers(); }
    [[nodiscard]] const std::vector<std::unique_ptr<Pipeline>>& pipelines() const noexcept { return pipelines_; }
    /// Address of the first sink of this kind; empty if there is none.
    [[nodiscard]] net::SocketAddress address_of(std::string_view kind) const { return sinks_.address_of(kind); }
    [[nodiscard]] net::SocketAddress metrics_address() const;

private:
    /// Checks every two seconds whether the configuration file has another content than the one that runs.
    void watch_config_file(std::int64_t now_ns);
    void serve_metrics(const net::SocketAddress& listen);
    /// Restores the history and the events of an earlier run.
    void open_history();
    /// Logs the listeners that admit other machines without authentication or TLS.
    void warn_of(const Config& config);
    /// Removes a sink from health and metrics.
    void forget(const Consumer& sink);
    void request_books(const std::string& ring) const;

    service::Log& log_;
    Config config_;
    std::mutex file_hash_mutex_;  // protects config_.file_hash
    std::int64_t config_checked_ns_{0};
    health::ProgramState program_;
    service::EventLog events_;
    std::unique_ptr<service::History> history_;
    std::vector<std::unique_ptr<Pipeline>> pipelines_;
    ReceiveLog receive_log_;
    MetricsPage page_;
    SinkSet sinks_;
    std::unique_ptr<health::Monitor> monitor_;
    std::unique_ptr<health::Recorder> recorder_;
    std::unique_ptr<service::HistoryFiles> history_files_;
    service::Reloader reloader_;
    http::ReloadPage reload_page_;
    ClientsPage clients_page_;
    std::unique_ptr<http::Server> http_;
};

}  // namespace millpond::gateway
