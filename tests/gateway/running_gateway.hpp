#pragma once

#include <gtest/gtest.h>
#include <algorithm>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/clock.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/gateway.hpp"
#include "gateway/health/findings.hpp"
#include "gateway/health/report_json.hpp"
#include "gateway/settings/config.hpp"
#include "service/log.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"

namespace millpond::gateway::test {

/// Value of one of the sink's metrics; 0 if there is none of this name.
inline std::uint64_t metric_of(const Consumer& sink, std::string_view wanted) {
    std::uint64_t value = 0;
    sink.visit_metrics([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == wanted) value = tally.read();
    });
    return value;
}

/// A running gateway with one feed and its sender.
class RunningGateway {
public:
    explicit RunningGateway(std::string_view name, const std::function<void(Config&)>& change = {})
        : gateway_(config_of(name, change), log_) {
        gateway_.start();
    }

    [[nodiscard]] net::SocketAddress feed() const {
        net::SocketAddress address;
        gateway_.pipelines().front()->for_each_feed(
            [&](const auto& line) { address = line.receiver().report().local; });
        return address;
    }
    void send(std::span<const std::byte> bytes) {
        if (!sender_) sender_ = std::make_unique<net::UdpSender>(net::UdpSender::Options{.to = feed()});
        while (!sender_->send(bytes)) std::this_thread::yield();
    }
    /// Sends a `quotes` datagram with one quote.
    void send_quote(std::uint32_t flags = 0) {
        std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
        auto quote = quote_of(0, feed::price_from<10'000>(10'000));
        quote.exchange_utc_ns = core::utc_nanos();
        quote.flags = static_cast<decltype(quote.flags)>(flags);
        encoder_.begin(buffer);
        ASSERT_TRUE(encoder_.add(quote, feed::Venue{"X"}, feed::Symbol{"AAPL"}));
        send(encoder_.finish(core::utc_nanos()));
    }
    /// Sends a `quotes` datagram without quotes.
    void send_heartbeat() {
        std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
        encoder_.begin(buffer);
        send(encoder_.finish(core::utc_nanos()));
    }
    void lose(std::uint64_t count) { encoder_.skip(count); }

    /// Watches until `done` returns true; false after a timeout.
    bool watch_until(const std::function<bool(const health::State&)>& done) {
        constexpr std::int64_t kTimeoutNs = 40'000'000'000;
        const auto deadline = core::monotonic_nanos() + kTimeoutNs;
        while (core::monotonic_nanos() < deadline) {
            gateway_.watch();
            if (done(*gateway_.health())) return true;
            std::this_thread::yield();
        }
        return false;
    }
    /// Watches until there is a finding of this stage whose text contains `part`, and returns it; the test fails after
    /// a timeout.
    health::Finding found(health::Stage stage, std::string_view part = {}) {
        health::Finding result;
        EXPECT_TRUE(watch_until([&](const health::State& state) {
            for (const auto& finding : health::findings(state, state.now)) {
                if (finding.stage != stage || finding.text.find(part) == std::string::npos) continue;
                result = finding;
                return true;
            }
            return false;
        })) << health::to_string(stage)
            << " is not found; " << health::report_line(*gateway_.health());
        return result;
    }
    /// Warnings and errors of the log.
    [[nodiscard]] std::string logged() const {
        const std::lock_guard lock{mutex_};
        return logged_;
    }
    [[nodiscard]] Gateway& gateway() noexcept { return gateway_; }
    [[nodiscard]] const std::string& ring() const { return gateway_.pipelines().front()->config().name; }
    [[nodiscard]] net::SocketAddress tcp() const { return gateway_.address_of("tcp"); }
    /// Waits for a good health; a feed that has received nothing yet is ignored.
    bool becomes_good() {
        return watch_until([](const health::State& state) {
            const auto found = health::findings(state, state.now);
            return std::ranges::all_of(found, [](const health::Finding& finding) {
                return finding.stage == health::Stage::no_datagrams && finding.severity == service::Severity::warning;
            });
        });
    }

private:
    static Config config_of(std::string_view name, const std::function<void(Config&)>& change) {
        Config config;
        config.metrics = {};
        config.rings.emplace_back().name = ring_name(name);
        auto& feed = config.feeds.emplace_back();
        feed.name = "f";
        feed.listen = net::SocketAddress::parse("127.0.0.1:0");
        feed.stale_seconds = 0;  // pauses of a slow machine are not losses
        if (change) change(config);
        complete(config);
        return config;
    }

    mutable std::mutex mutex_;
    std::string logged_;
    service::Log log_{service::Severity::warning, service::LogFormat::text, [this](const std::string& line) {
                          const std::lock_guard lock{mutex_};
                          logged_ += line;
                      }};
    Gateway gateway_;
    feed::QuotesEncoder encoder_{{.channel = 0, .session = 1}};
    std::unique_ptr<net::UdpSender> sender_;
};

}  // namespace millpond::gateway::test
