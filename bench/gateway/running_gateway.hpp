#pragma once

#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/net/socket_address.hpp>

#include "bench/harness/timing.hpp"
#include "gateway/feeds/bbo28/settings.hpp"
#include "gateway/gateway.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/sinks/consumer.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/web/settings.hpp"
#include "service/log.hpp"

namespace millpond::bench {

/// A gateway with one bbo28 feed on a port of loopback, without metrics or log.
///
/// Threads: the thread that constructs it must be allowed to run on receive_core.
class RunningGateway {
public:
    struct Options {
        int receive_core{0};
        core::Poll poll{core::Poll::spin};
        bool tcp{false};
        bool web{false};
        std::string csv{};                             ///< File of a csv sink; empty: no such sink.
        std::optional<int> sinks_core{};               ///< Processor of all other threads.
        std::function<void(gateway::Config&)> also{};  ///< Changes the configuration.
    };

    explicit RunningGateway(const Options& options) : gateway_(config_of(options), log_) {
        gateway_.start();
        if (!options.sinks_core) return;
        // Twice, for threads that were started meanwhile.
        for (int i = 0; i < 2; ++i) move_sinks(options.receive_core, *options.sinks_core);
    }

    [[nodiscard]] std::string ring_name() const { return pipeline().config().name; }
    [[nodiscard]] const gateway::Pipeline& pipeline() const { return *gateway_.pipelines().front(); }
    [[nodiscard]] const std::vector<std::unique_ptr<gateway::Consumer>>& sinks() const { return gateway_.sinks(); }
    [[nodiscard]] net::SocketAddress tcp_address() const { return gateway_.address_of("tcp"); }

    [[nodiscard]] net::SocketAddress web_address() const { return gateway_.address_of("web"); }

    [[nodiscard]] std::uint16_t feed_port() const {
        std::uint16_t port = 0;
        pipeline().for_each_feed([&](const auto& feed) { port = feed.receiver().report().local.port(); });
        return port;
    }

private:
    static gateway::Config config_of(const Options& options) {
        gateway::Config config;
        config.log_level = service::Severity::error;
        config.quiet = true;
        config.metrics = {};
        config.poll = options.poll;
        config.pin = static_cast<std::uint32_t>(options.receive_core);
        config.rings.emplace_back().name = "bench-" + std::to_string(getpid());
        auto& feed = config.feeds.emplace_back();
        feed.use<gateway::bbo28::Settings>();
        feed.listen = net::SocketAddress::parse("127.0.0.1:0");
        if (options.tcp) config.add<gateway::tcp::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0");
        if (options.web) {
            auto& web = config.add<gateway::web::Settings>();
            web.listen = net::SocketAddress::parse("127.0.0.1:0");
            web.mode = gateway::Delivery::every;
        }
        if (!options.csv.empty()) config.add<gateway::csv::Settings>().path = options.csv;
        if (options.also) options.also(config);
        gateway::complete(config);
        return config;
    }

    // The receive thread is the only one that is bound to one processor.
    static void move_sinks(int receive_core, int sinks_core) {
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
            const auto thread = static_cast<pid_t>(std::stol(entry.path().filename().string()));
            cpu_set_t set;
            CPU_ZERO(&set);
            if (sched_getaffinity(thread, sizeof set, &set) != 0) continue;
            const bool receives = CPU_COUNT(&set) == 1 && CPU_ISSET(static_cast<std::size_t>(receive_core), &set);
            if (!receives) run_on({sinks_core}, thread);
        }
    }

    service::Log log_{service::Severity::error, service::LogFormat::text, [](const std::string&) {}};
    gateway::Gateway gateway_;
};

}  // namespace millpond::bench
