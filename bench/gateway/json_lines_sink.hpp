#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/gateway/datagram.hpp"
#include "bench/gateway/many_clients.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/harness/timing.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/web/settings.hpp"

namespace millpond::bench {

/// A gateway with one sink of JSON lines for many clients, and the sender of its feed: datagrams of one quote.
class JsonLinesSink {
public:
    /// datagrams_per_call: how many datagrams a system call sends at most, as one train where the kernel has those.
    JsonLinesSink(ClientKind kind, std::size_t max_clients, std::size_t datagrams_per_call = 1)
        : kind_(kind),
          running_({.receive_core = two_cores().second,
                    .poll = core::Poll::adaptive,
                    .also =
                        [&](auto& config) {
                            kind == ClientKind::tcp ? set<gateway::tcp::Settings>(config, max_clients)
                                                    : set<gateway::web::Settings>(config, max_clients);
                        }}),
          datagrams_(datagrams_per_call),
          sender_({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(running_.feed_port())),
                   .batch = datagrams_per_call,
                   .gso = net::Want::prefer}) {}

    [[nodiscard]] ClientKind kind() const { return kind_; }
    [[nodiscard]] std::uint16_t port() const {
        return (kind_ == ClientKind::tcp ? running_.tcp_address() : running_.web_address()).port();
    }
    /// Waits until the sink has accepted all clients: the kernel completes connections earlier.
    void wait_for_clients(std::size_t count) const {
        spin_until([&] {
            std::uint64_t clients = 0;
            running_.sinks().front()->visit_metrics(
                [&](std::string_view name, std::string_view, const core::Tally& tally) {
                    if (name == "clients") clients = tally.read();
                });
            return clients == count;
        });
    }
    /// Sends lines: one per client for each quote.
    void send(std::uint64_t quotes) {
        std::vector<std::span<const std::byte>> call;
        for (std::uint64_t sent = 0; sent < quotes; sent += call.size()) {
            call.clear();
            for (auto& bytes : std::span{datagrams_}.first(std::min<std::size_t>(quotes - sent, datagrams_.size()))) {
                bytes = datagram_of(++price_);
                call.emplace_back(bytes);
            }
            std::size_t accepted = 0;
            spin_until([&] { return (accepted += sender_.send(std::span{call}.subspan(accepted))) == call.size(); });
        }
    }

    /// Processor time of the gateway's threads so far: all threads of the process except the calling one.
    static std::int64_t processor_nanos() {
        timespec time{};
        if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) throw std::runtime_error("no clock of the process");
        return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec - own_nanos();
    }

private:
    template <class Settings>
    static void set(gateway::Config& config, std::size_t max_clients) {
        auto& settings = config.add<Settings>();
        settings.listen = net::SocketAddress::parse("127.0.0.1:0");
        settings.mode = gateway::Delivery::every;
        settings.max_clients = max_clients;
    }

    ClientKind kind_;
    RunningGateway running_;
    std::vector<std::array<std::byte, kDatagramBytes>> datagrams_;
    net::UdpSender sender_;
    std::uint32_t price_{100'000};
};

/// Reads until all clients together have this number of lines.
inline void read_all(ManyClients& clients, std::uint64_t lines) {
    if (clients.read_until(lines) < lines) throw std::runtime_error("a client of the bench lacks lines");
}

/// Connects this number of clients to a source of lines, and sends them the first lines, after those of the board.
/// Returns the number of lines that all clients together then have.
///
/// Source: has kind(), port(), wait_for_clients(count) and send(lines).
template <class Source>
std::uint64_t join(ManyClients& clients, Source& source, std::size_t count) {
    constexpr std::uint64_t kFirst = 20;
    clients.connect(source.kind(), source.port(), count);
    source.wait_for_clients(count);
    source.send(kFirst);
    read_all(clients, count * kFirst);
    return clients.read_rest();
}

/// Sends this number of lines to all clients, each burst after all clients have the previous one.
template <class Source>
void send_bursts(ManyClients& clients, Source& source, std::size_t count, std::uint64_t lines, std::uint64_t burst,
                 std::uint64_t first) {
    for (std::uint64_t sent = 0; sent < lines;) {
        source.send(burst);
        sent += burst;
        read_all(clients, first + sent * count);
    }
}

}  // namespace millpond::bench
