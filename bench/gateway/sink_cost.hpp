#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "bench/gateway/folder.hpp"
#include "bench/gateway/mock_kafka.hpp"
#include "bench/gateway/reading.hpp"
#include "bench/gateway/receive_path.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/gateway/tcp_socket.hpp"
#include "bench/gateway/web_socket.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/rivals/free_port.hpp"
#include "gateway/sinks/journal/settings.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "gateway/sinks/mqtt/settings.hpp"
#include "gateway/sinks/udp/settings.hpp"

namespace millpond::bench {

enum class Broker : std::uint8_t {
    none,   ///< No sink of this kind.
    reads,  ///< Receives everything.
    stuck,  ///< Accepts a connection (MQTT: with CONNACK), then reads nothing.
    dead,   ///< No process listens at its port.
};

struct Sinks {
    bool tcp{false};
    bool web{false};
    bool csv{false};
    bool udp{false};
    bool journal{false};
    Broker mqtt{Broker::none};
    Broker kafka{Broker::none};  ///< Needs a journal.
};

/// A gateway with these sinks and their consumers, on the processor of the thread that constructs it; only the receive
/// thread runs on the other one.
class SinkCost {
public:
    SinkCost(const Sinks& sinks, const MockKafka& kafka)
        : sinks_(sinks),
          kafka_brokers_(sinks.kafka == Broker::reads ? kafka.brokers()
                                                      : "127.0.0.1:" + std::to_string(port_of(sinks.kafka))),
          mqtt_port_(sinks.mqtt == Broker::dead ? port_of(sinks.mqtt) : mqtt_.port()),
          running_({.receive_core = two_cores().second,
                    .tcp = sinks.tcp,
                    .web = sinks.web,
                    .csv = sinks.csv ? folder_ / "quotes.csv" : "",
                    .sinks_core = two_cores().first,
                    .also = [this](gateway::Config& config) { add_to(config); }}) {
        const auto core = two_cores().first;
        run_on(core);
        if (sinks.tcp) readers_.emplace_back(TcpSocket::connect_to(running_.tcp_address().port()), core);
        if (sinks.web) readers_.emplace_back(WebSocket{running_.web_address().port()}.release(), core);
        if (sinks.mqtt == Broker::reads || sinks.mqtt == Broker::stuck) greet(core);
    }

    Finding measure() {
        const auto consume = [this] {
            if (sinks_.udp) (void)datagrams_.poll();
        };
        auto found = receive_path(running_, consume, scaled(4'000));
        // Messages of a broken connection are unknown; the others received everything.
        for (const auto& sink : running_.sinks()) {
            const auto broker = sink->type() == "mqtt"    ? sinks_.mqtt
                                : sink->type() == "kafka" ? sinks_.kafka
                                                          : Broker::reads;
            if (broker != Broker::reads) continue;
            spin_until([&] { return sink->account().published >= found.answer && sink->account().queued == 0; });
            if (sink->account().delivered == 0 || sink->account().missed != 0) {
                throw std::runtime_error(sink->name() + " did not deliver what it should");
            }
        }
        return found;
    }

private:
    [[nodiscard]] std::uint16_t port_of(Broker broker) const {
        return broker == Broker::dead ? static_cast<std::uint16_t>(free_port()) : silent_.port();
    }

    void add_to(gateway::Config& config) const {
        if (sinks_.udp) config.add<gateway::udp::Settings>().to = datagrams_.report().local;
        if (sinks_.journal || sinks_.kafka != Broker::none) {
            config.add<gateway::journal::Settings>().writer.folder = folder_ / "journal";
            config.first<gateway::journal::Settings>()->writer.segment_bytes = 16ULL << 20U;
        }
        if (sinks_.mqtt != Broker::none) {
            auto& mqtt = config.add<gateway::mqtt::Settings>();
            mqtt.port = mqtt_port_;
            mqtt.protocol = gateway::mqtt::Protocol::v3_1_1;
        }
        if (sinks_.kafka != Broker::none) config.add<gateway::kafka::Settings>().brokers = {kafka_brokers_};
    }

    /// The CONNACK of an MQTT broker that accepts. Source: MQTT 3.1.1, section 3.2.
    void greet(int core) {
        std::array<char, 1024> connect;
        auto connected = mqtt_.accept_one();
        // A client may open a connection only to check that the broker listens, and connect afterwards.
        while (connected.read(connect.data(), connect.size()) == 0) {
            connected = mqtt_.accept_one();
        }
        using std::string_view_literals::operator""sv;
        connected.write("\x20\x02\x00\x00"sv);
        if (sinks_.mqtt == Broker::reads) {
            readers_.emplace_back(std::move(connected), core);
        } else {
            stuck_.emplace(std::move(connected));
        }
    }

    Sinks sinks_;
    Folder folder_;
    TcpListener mqtt_;
    TcpListener silent_;
    net::UdpReceiver datagrams_{{.local = net::SocketAddress::parse("127.0.0.1:0")}};
    std::string kafka_brokers_;
    std::uint16_t mqtt_port_;
    RunningGateway running_;
    std::deque<Reading> readers_;
    std::optional<TcpSocket> stuck_;
};

struct NamedSinks {
    std::string name;
    Sinks sinks;
};
/// compare_receive_path of gateways with these sinks.
inline void compare_costs(const std::string& question, const std::string& beside, const std::string& not_measured,
                          const std::vector<NamedSinks>& all) {
    const auto cores = two_cores();
    run_on(cores.first);
    const MockKafka kafka;
    std::vector<Contender> contenders;
    for (const auto& [name, sinks] : all) {
        contenders.push_back({name, [sinks = sinks, cores, &kafka] {
                                  // A thread can only be bound to processors of the thread that starts it.
                                  run_on({cores.first, cores.second});
                                  return SinkCost{sinks, kafka}.measure();
                              }});
    }
    compare_receive_path(question, beside, not_measured, contenders);
}

}  // namespace millpond::bench
