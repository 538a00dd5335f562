#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/metrics/histogram_snapshot.hpp>
#include <millpond/metrics/registry.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/health/last_error.hpp"
#include "gateway/health/monitor.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/reload.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/sinks/consumer.hpp"
#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/sink.hpp"
#include "service/http/page.hpp"
#include "service/http/server.hpp"
#include "service/log.hpp"
#include "service/token.hpp"

namespace millpond::gateway {

/// Sums over all feeds and rings, for the status line.
struct Totals {
    std::uint64_t packets{0};
    std::uint64_t quotes{0};
    std::uint64_t missing{0};  ///< Sequence numbers that did not come.
    std::uint64_t malformed{0};
    std::uint64_t kernel_drops{0};
    metrics::HistogramSnapshot wire;
};

/// A whole gateway: receive threads with their rings, sinks, metrics. Construction opens everything, start lets it run.
///
/// Threads: one; watch is to be called a few times a second by it.
class Gateway {
public:
    /// config: complete(). Throws std::exception's heirs with one precise sentence; nothing is left behind then.
    Gateway(const Config& config, service::Log& log);
    /// Ends everything: receive threads first, then sinks, then the rings, whose names go.
    ~Gateway();
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;

    void start();
    /// Logs what receive threads noticed, sees to the exchanges' days, and looks at everybody's health.
    void watch();

    /// Closes the sinks that `next` does not have, opens those that are new, and opens anew those that changed. All
    /// others, the rings and the receive threads are not touched; what of `next` needs a restart is refused. All that
    /// a sink needs is looked at before any is closed: where something is missing, what runs is left as it was. Throws
    /// ConfigError, with nothing changed, for secrets and certificates that cannot be had.
    Reloaded reconfigure(Config next);
    /// Where the admin's wishes come in; whoever watches answers them.
    [[nodiscard]] ReloadDesk& desk() noexcept { return desk_; }

    void read_totals(Totals& totals) const;
    /// As watch() saw it last; on any thread.
    [[nodiscard]] std::shared_ptr<const health::State> health() const { return monitor_->state(); }
    [[nodiscard]] const std::vector<std::unique_ptr<Consumer>>& sinks() const noexcept { return sinks_; }
    [[nodiscard]] const std::vector<std::unique_ptr<Pipeline>>& pipelines() const noexcept { return pipelines_; }
    /// Where the first TCP sink listens, where metrics are served, and the first page; empty when there is none.
    [[nodiscard]] net::SocketAddress tcp_address() const noexcept { return tcp_address_; }
    [[nodiscard]] net::SocketAddress metrics_address() const;
    [[nodiscard]] net::SocketAddress web_address() const noexcept { return web_address_; }

private:
    [[nodiscard]] service::Say say();
    /// Writes down what a dead gateway's rings still hold, before their names are taken over.
    void rescue_left_rings(const Config& config);
    /// A sink whose secrets and certificates were read and are good; `open` may still fail for a file or an address.
    struct PreparedSink {
        std::string name;
        std::function<void()> open;
    };
    /// In the order in which they are to be opened. Throws ConfigError.
    [[nodiscard]] std::vector<PreparedSink> prepare_sinks(const Config& config);
    /// Runs it; holds: for how long it may hold an event on purpose.
    template <class Settings>
    void run_sink(const Settings& settings, std::unique_ptr<Sink> sink, const service::Say& say,
                  std::chrono::nanoseconds holds = {});
    void open_kafka(const KafkaConfig& settings, kafka::Options options);
    /// Number of the newest record of a journal that runs. Throws ConfigError when none of this name does.
    [[nodiscard]] const core::Tally& newest_record_of(const std::string& journal) const;
    /// What a sink says is logged, and what it complains of is kept for its health.
    [[nodiscard]] service::Say say_of(const std::string& sink);
    void serve_metrics(const net::SocketAddress& listen);
    void list_metrics();
    void list_pipeline(const Pipeline& pipeline);
    template <class Line>
    void list_feed(const Line& line);
    void list_sink(const Consumer& sink);
    void tell_account(const Consumer& sink);
    void close_sink(std::size_t place);
    /// Opens and starts it. Why not, if that fails.
    [[nodiscard]] std::optional<std::string> open_late(const PreparedSink& sink);
    /// Takes what cannot be had out of `next`, in favour of what runs under the same name.
    void keep_what_cannot_change(Config& next, Reloaded& result) const;
    /// Opens what `next` has and `config_` has not.
    void open_new_sinks(const Config& next, const Config& before, Reloaded& result);
    /// What a POST does.
    [[nodiscard]] http::Page act(const http::Request& request, std::string_view authorization);
    void report() const;
    void report_line(const FeedConfig& config, std::string_view line, const net::UdpReceiver::Report& got) const;
    [[nodiscard]] http::Page page(const http::Request& request) const;
    [[nodiscard]] std::string name_of_channel(const Pipeline& pipeline, std::uint16_t channel) const;

    /// By how much a count has grown since it was asked for last.
    [[nodiscard]] std::uint64_t growth(const std::string& of, std::uint64_t value);
    void tell(const Pipeline& pipeline, const Notice& notice);
    void tell_gap(const std::string& feed, const Notice& notice);
    void tell_losses(Pipeline& pipeline);

    service::Log& log_;
    Config config_;
    service::Token admin_token_;
    ReloadDesk desk_;
    std::vector<std::unique_ptr<Pipeline>> pipelines_;
    std::map<std::string, health::LastError> errors_;  // of each sink
    std::vector<std::unique_ptr<Consumer>> sinks_;
    std::vector<health::WatchedSink> watched_;
    net::SocketAddress tcp_address_;
    net::SocketAddress web_address_;
    metrics::Registry registry_;
    std::vector<metrics::Registration> listed_;
    std::map<std::string, std::vector<metrics::Registration>> listed_of_sink_;
    std::map<std::string, std::uint64_t> seen_;
    std::unique_ptr<health::Monitor> monitor_;
    std::unique_ptr<http::Server> http_;
};

}  // namespace millpond::gateway
