#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/json_text.hpp>
#include <millpond/feed/quote_json.hpp>

#include "bench/gateway/json_lines_sink.hpp"
#include "bench/gateway/line_delays.hpp"
#include "bench/gateway/many_clients.hpp"
#include "bench/gateway/nats_server.hpp"
#include "bench/gateway/one_way.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"

namespace millpond::bench {

inline const std::vector<std::size_t> kSubscribers{1, 100, 1'000};
inline constexpr std::uint64_t kWholeBurst = 1'000'000;
/// Datagrams that one system call can send.
inline constexpr std::size_t kTrain = 64;

/// A line of the tcp sink, with its newline.
inline std::string finished_line() {
    const feed::Quote quote{.bid_price = feed::price_from<10'000>(100'000),
                            .ask_price = feed::price_from<10'000>(100'100),
                            .bid_size = 200,
                            .ask_size = 300,
                            .receive_utc_ns = 1'580'398'200'000'000'000};
    std::array<char, feed::kMaxJsonBytes> buffer;
    return std::string{feed::quote_json(buffer, quote, feed::JsonSymbol{feed::Symbol{"MILLPOND"}}, 100'000)} + '\n';
}

/// Publishes finished lines through nats-server, as many as possible per system call.
class NatsLines {
public:
    NatsLines(const NatsServer& server, std::uint64_t lines_per_call)
        : server_(server), lines_per_call_(lines_per_call), publisher_(server.port(), finished_line()) {}

    [[nodiscard]] static ClientKind kind() { return ClientKind::nats; }
    [[nodiscard]] std::uint16_t port() const { return server_.port(); }
    /// Waits until the server has confirmed each subscription.
    static void wait_for_clients(std::size_t) {}
    void send(std::uint64_t lines) {
        for (std::uint64_t sent = 0; sent < lines; sent += lines_per_call_) {
            publisher_.publish(std::min(lines - sent, lines_per_call_));
        }
    }
    [[nodiscard]] std::int64_t processor_nanos() const { return server_.processor_nanos(); }

private:
    const NatsServer& server_;
    std::uint64_t lines_per_call_;
    NatsPublisher publisher_;
};

/// The tcp sink and, if installed, nats-server, each with 1, 100 and 1,000 subscribers. The kernel places all threads
/// except the gateway's receive thread.
class FanOut {
public:
    /// Constructed while the process has one thread.
    explicit FanOut(LineDelays* delays = nullptr) : clients_(enough_descriptors(delays)) {
        if (NatsServer::is_installed()) server_.emplace();
    }

    /// run(source, clients, count): measures with this number of subscribers.
    template <class Run>
    [[nodiscard]] std::vector<Contender> contenders(Run run) {
        std::vector<Contender> all;
        add_sink(all, "millpond tcp sink", ClientKind::tcp, kSubscribers, kTrain, run);
        add_nats(all, "nats-server", kSubscribers, kWholeBurst, run);
        return all;
    }
    /// Adds nats-server, if installed, with a publisher that passes this number of lines per system call.
    template <class Run>
    void add_nats(std::vector<Contender>& all, const std::string& name, const std::vector<std::size_t>& subscribers,
                  std::uint64_t lines_per_call, Run run) {
        if (!server_) return;
        add_line(all, name, subscribers, [this, lines_per_call, run](std::size_t count) {
            roam();
            NatsLines source(*server_, lines_per_call);
            return run(source, clients_, count);
        });
    }
    /// Adds one of our sinks with a sender that passes this number of datagrams per system call.
    template <class Run>
    void add_sink(std::vector<Contender>& all, const std::string& name, ClientKind kind,
                  const std::vector<std::size_t>& subscribers, std::size_t datagrams_per_call, Run run) {
        add_line(all, name, subscribers, [this, kind, datagrams_per_call, run](std::size_t count) {
            roam();
            JsonLinesSink source(kind, count, datagrams_per_call);
            return run(source, clients_, count);
        });
    }
    /// Sets `goal` for the tcp sink relative to nats-server, for each number of subscribers.
    [[nodiscard]] std::vector<Goal> goals(const Goal& goal) const {
        std::vector<Goal> all;
        for (const auto count : kSubscribers) {
            if (!server_) break;
            auto& one = all.emplace_back(goal);
            one.contender = "millpond tcp sink, " + std::to_string(count);
            one.to = "nats-server, " + std::to_string(count);
        }
        return all;
    }
    /// Names missing contenders, for `not_measured`.
    [[nodiscard]] std::string missing() const { return server_ ? "" : "; nats-server, which is not installed here"; }

private:
    static LineDelays* enough_descriptors(LineDelays* delays) {
        if (!allow_descriptors(kSubscribers.back())) throw Refused("the limit of open files is too low");
        return delays;
    }

    ManyClients clients_;
    std::optional<NatsServer> server_{};
};

}  // namespace millpond::bench
