// Measured:     the receive path, from the kernel's receive time of a datagram until it is in the ring, as the gateway
//               itself records it, with an mqtt and a kafka sink of whose brokers one takes no more or is not there.
//               One datagram at a time, 20 microseconds apart or more; the receive thread has a processor to itself and
//               spins; sender, sinks and brokers share the other.
// Not measured: what the brokers get; tests look at the accounts.
#include <iostream>
#include <vector>

#include "bench/gateway/mock_kafka.hpp"
#include "bench/gateway/sink_cost.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

int main() {
    using namespace millpond;
    using bench::Broker;
    if (!gateway::mqtt::is_built()) {
        std::cerr << "lost_brokers_bench: libmosquitto-dev was missing when it was built\n";
        return 1;
    }
    const auto cores = bench::two_cores();
    bench::run_on(cores.first);
    const bench::MockKafka kafka;
    bench::run_on({cores.first, cores.second});
    std::vector<bench::Contender> contenders;
    std::vector<bench::Goal> goals;
    const auto add = [&](const char* name, const bench::Sinks& sinks) {
        contenders.push_back({name, [sinks, &kafka] { return bench::cost_of(sinks, kafka); }});
        if (contenders.size() == 1) return;
        goals.push_back({.contender = name, .to = "both take", .of = bench::Statistic::p50, .at_most = 1.03});
        goals.push_back({.contender = name, .to = "both take", .of = bench::Statistic::p99, .at_most = 1.10});
    };
    add("both take", {.mqtt = Broker::takes, .kafka = Broker::takes});
    add("MQTT's is stuck", {.mqtt = Broker::stuck, .kafka = Broker::takes});
    add("MQTT's is dead", {.mqtt = Broker::dead, .kafka = Broker::takes});
    add("Kafka's is stuck", {.mqtt = Broker::takes, .kafka = Broker::stuck});
    add("Kafka's is dead", {.mqtt = Broker::takes, .kafka = Broker::dead});
    bench::compare({.question = "Does a broker that is stuck or dead slow the receive path?",
                    .unit = "ns",
                    .goals = goals,
                    .measured = "from the kernel's receive time until the quote is in the ring, as the gateway records "
                                "it, with an mqtt and a kafka sink; one datagram at a time, 20 us apart or more, the "
                                "receive thread alone on its processor and spinning",
                    .not_measured = "what the brokers get"},
                   contenders);
}
