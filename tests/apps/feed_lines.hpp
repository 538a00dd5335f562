#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/feeds/itch/settings.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/settings/config.hpp"
#include "tests/apps/gateway_run.hpp"

namespace millpond::app {

/// Events that a subscriber has received.
struct Subscriber {
    void on(const feed::Quote& quote) { quotes.push_back(quote); }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap& gap) { gaps.push_back(gap); }
    void on(const feed::Clear& clear) { clears.push_back(clear); }
    void on(const feed::Definition& definition) { defined.insert(definition.instrument); }
    void on(const queue::MissedRange& range) { missed += range.count(); }
    std::vector<feed::Quote> quotes;
    std::vector<feed::Gap> gaps;
    std::vector<feed::Clear> clears;
    std::set<feed::InstrumentId> defined;  // in a directory entry
    std::uint64_t missed{0};
};

/// A receive thread, senders for its lines, and a subscriber of its ring.
class Lines {
public:
    /// state: the gateway's folder of that name.
    explicit Lines(std::string_view name, const std::function<void(gateway::FeedConfig&)>& change,
                   const std::string& state = {})
        : config_(config_of(name, change, state)),
          pipeline_(config_.rings.front(), config_),
          reader_({.name = config_.rings.front().name}) {
        pipeline_.for_each_feed([this](const auto& feed) {
            if (feed.connection() != nullptr) return;
            feed.for_each_line([this](std::string_view, const gateway::Line& receiver) {
                senders_.push_back(
                    std::make_unique<net::UdpSender>(net::UdpSender::Options{.to = receiver.report().local}));
            });
        });
        pipeline_.start();
    }

    void send(std::size_t line, std::span<const std::byte> bytes) {
        while (!senders_[line]->send(bytes)) std::this_thread::yield();
    }
    [[nodiscard]] net::SocketAddress address() const {
        net::SocketAddress address;
        pipeline_.for_each_feed([&](const auto& feed) { address = feed.receiver().report().local; });
        return address;
    }
    [[nodiscard]] const std::string& ring() const noexcept { return config_.rings.front().name; }
    /// Polls the ring until `done` returns true; false after a timeout. `done` may also do work between polls.
    bool read_until(const std::function<bool()>& done) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        for (;;) {
            const auto read = reader_.poll(subscriber, 1'024);
            if (done()) return true;
            if (core::monotonic_nanos() > deadline) return false;
            if (read == 0) std::this_thread::yield();
        }
    }
    /// Waits until everything received is on the board and in the ring; the datagram counters are ahead of both.
    bool settle() {
        const auto now = static_cast<std::uint64_t>(core::monotonic_nanos());
        return read_until([&] { return pipeline_.publisher().beaten_ns().read() > now; });
    }
    /// Value of a counter of the feed or its lines.
    [[nodiscard]] std::uint64_t count(std::string_view name) const {
        std::uint64_t value = 0;
        const auto look = [&](std::string_view what, std::string_view, const core::Tally& tally) {
            if (what == name) value += tally.read();
        };
        pipeline_.for_each_feed([&](const auto& feed) {
            feed.visit_counters(look);
            feed.visit_line_counters(look);
            feed.for_each_arbitrated([&](std::string_view, const feed::LineCounters& counters,
                                         const feed::SequenceCounters&) { counters.visit(look); });
        });
        return value;
    }
    /// Of the feed's re-request server, which it must have.
    [[nodiscard]] gateway::RequestClient::State server_state() const {
        gateway::RequestClient::State state{};
        pipeline_.for_each_feed([&](const auto& feed) { state = feed.request_server()->state(); });
        return state;
    }
    [[nodiscard]] bool server_is_reachable() const {
        return server_state() == gateway::RequestClient::State::reachable;
    }
    /// Whether books are incomplete and wait for a rebuild.
    [[nodiscard]] bool rebuild_wanted() const {
        bool wanted = false;
        pipeline_.for_each_feed([&](const auto& feed) { wanted = wanted || feed.rebuilding()->wanted; });
        return wanted;
    }
    [[nodiscard]] std::string rebuild_failure() const {
        std::string text;
        pipeline_.for_each_feed([&](const auto& feed) { text += feed.rebuilding()->last_failure.text; });
        return text;
    }
    /// Why the last connection of a feed that receives by TCP ended.
    [[nodiscard]] std::string connection_failure() const {
        std::string text;
        pipeline_.for_each_feed([&](const auto& feed) {
            const auto status = feed.connection()->client().status();
            text += net::to_string(status.failure, status.detail);
        });
        return text;
    }
    [[nodiscard]] market::RingReader& reader() { return reader_; }
    Subscriber subscriber;

private:
    static gateway::Config config_of(std::string_view name, const std::function<void(gateway::FeedConfig&)>& change,
                                     const std::string& state) {
        gateway::Config config;
        config.state = state;
        config.rings.emplace_back().name = unique_ring(name);
        config.rings.front().huge_pages = gateway::Wanted::none;
        config.rings.front().max_instruments = 256;
        auto& feed = config.feeds.emplace_back();
        feed.listen = net::SocketAddress::parse("127.0.0.1:0");
        feed.receive_buffer = 1U << 20U;
        feed.use<gateway::itch::Settings>().max_orders = 4'096;
        feed.stale_seconds = 0;
        // A long reorder timeout: held datagrams wait for the other line even on a slow machine.
        feed.reorder_us = 10'000'000;
        change(feed);
        complete(config);
        return config;
    }
    gateway::Config config_;
    gateway::Pipeline pipeline_;
    market::RingReader reader_;
    std::vector<std::unique_ptr<net::UdpSender>> senders_;
};

}  // namespace millpond::app
