#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/files/itch_file_reader.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/fixed_stream.hpp"
#include "apps/millpond/traffic/glimpse_snapshot.hpp"
#include "apps/millpond/traffic/iex_gap_fill_server.hpp"
#include "apps/millpond/traffic/iex_history.hpp"
#include "apps/millpond/traffic/iex_snap_server.hpp"
#include "apps/millpond/traffic/paced_session.hpp"
#include "apps/millpond/traffic/request_server.hpp"
#include "apps/millpond/traffic/soupbin_server.hpp"

/// ItchServers of messages that `millpond replay` has sent.
namespace millpond::app {

/// Runs servers until it is destroyed, each on a thread.
class ServerThreads {
public:
    /// what: "requests are served".
    template <class Server>
    void serve(std::string_view what, Server& server) {
        constexpr int kLookMs = 50;
        fmt::print("{} at {}\n", what, server.address().to_string());
        std::fflush(stdout);
        threads_.emplace_back([&server](const std::stop_token& stop) {
            while (!stop.stop_requested()) static_cast<void>(server.poll(kLookMs));
        });
    }
    void stop() { threads_.clear(); }

private:
    std::vector<std::jthread> threads_;
};

/// Serves the IEX-TP messages of a capture that were sent, until it is destroyed: in gap fills and in snapshots.
class IexServing {
public:
    IexServing(const std::optional<net::SocketAddress>& gap_fill, const std::optional<net::SocketAddress>& snap) {
        if (gap_fill) {
            gap_fill_.emplace(*gap_fill, history_);
            threads_.serve("IEX gap fills are served", *gap_fill_);
        }
        if (snap) {
            snap_.emplace(*snap, history_);
            threads_.serve("IEX snapshots are served", *snap_);
        }
    }
    ~IexServing() {
        threads_.stop();
        if (gap_fill_)
            fmt::print("gap fill requests {}, messages resent {}\n", gap_fill_->requests(), gap_fill_->answered());
        if (snap_) fmt::print("snapshot requests {}, snapshots sent {}\n", snap_->requests(), snap_->snapshots());
    }
    IexServing(const IexServing&) = delete;
    IexServing& operator=(const IexServing&) = delete;

    [[nodiscard]] traffic::IexHistory& history() noexcept { return history_; }

private:
    traffic::IexHistory history_;
    std::optional<traffic::IexGapFillServer> gap_fill_;
    std::optional<traffic::IexSnapServer> snap_;
    ServerThreads threads_;
};

/// Addresses of the servers that accompany a replay.
struct ItchServers {
    std::optional<net::SocketAddress> requests;
    std::optional<net::SocketAddress> soupbin;
    std::optional<net::SocketAddress> glimpse;
    [[nodiscard]] bool any() const noexcept { return requests || soupbin || glimpse; }
};

/// Serves the messages of a session until it is destroyed: all of them to MoldUDP64 requests; those that were sent, to
/// SoupBinTCP clients and in GLIMPSE snapshots.
class ItchServing {
public:
    ItchServing(const ItchServers& servers, const std::string& file, const std::string& session)
        : messages_(messages_of(file)), released_(std::make_shared<traffic::PacedSession>(messages_)) {
        if (servers.requests) {
            requests_.emplace(*servers.requests, session, messages_);
            threads_.serve("requests are served", *requests_);
        }
        if (servers.soupbin) {
            soupbin_.emplace(*servers.soupbin, session, [this] { return released_; });
            threads_.serve("SoupBinTCP is served", *soupbin_);
        }
        if (servers.glimpse) {
            glimpse_.emplace(*servers.glimpse, session, [this] { return snapshot(); });
            threads_.serve("GLIMPSE is served", *glimpse_);
        }
    }
    ~ItchServing() {
        threads_.stop();
        if (requests_) fmt::print("requests {}, messages resent {}\n", requests_->requests(), requests_->answered());
        if (soupbin_) fmt::print("SoupBinTCP logins {}, messages sent {}\n", soupbin_->logins(), soupbin_->sent());
        if (glimpse_) fmt::print("GLIMPSE logins {}, messages sent {}\n", glimpse_->logins(), glimpse_->sent());
    }
    ItchServing(const ItchServing&) = delete;
    ItchServing& operator=(const ItchServing&) = delete;

    /// The messages that may be served.
    [[nodiscard]] traffic::PacedSession& released() noexcept { return *released_; }

private:
    static traffic::SessionMessages messages_of(const std::string& file) {
        traffic::SessionMessages messages;
        files::ItchFileReader reader{file};
        std::span<const std::byte> message;
        while (reader.next(message)) messages.add(message);
        return messages;
    }
    /// The state after the messages that were sent so far.
    std::shared_ptr<const traffic::SoupBinStream> snapshot() {
        for (const auto sent = released_->available(); applied_ != sent;) state_.apply(messages_.message(++applied_));
        return std::make_shared<traffic::FixedStream>(state_.messages());
    }

    traffic::SessionMessages messages_;
    std::shared_ptr<traffic::PacedSession> released_;
    traffic::GlimpseSnapshot state_;  // of the thread that serves snapshots
    std::uint64_t applied_{0};        // messages in it
    std::optional<traffic::RequestServer> requests_;
    std::optional<traffic::SoupBinServer> soupbin_;
    std::optional<traffic::SoupBinServer> glimpse_;
    ServerThreads threads_;
};

}  // namespace millpond::app
