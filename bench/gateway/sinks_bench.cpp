// Measured:     the receive path, from the kernel's receive time of a datagram until it is in the ring, as the gateway
//               itself records it, with one sink at a time. One datagram at a time, 20 microseconds apart or more; the
//               receive thread has a processor to itself and spins; sender, sinks, clients and brokers share the other.
// Not measured: what a sink costs on the processor that it runs on.
#include <vector>

#include "bench/gateway/mock_kafka.hpp"
#include "bench/gateway/sink_cost.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

int main() {
    using namespace millpond;
    using bench::Broker;
    const auto cores = bench::two_cores();
    bench::run_on(cores.first);
    const bench::MockKafka kafka;
    bench::run_on({cores.first, cores.second});
    std::vector<bench::Contender> contenders;
    std::vector<bench::Goal> goals;
    const auto add = [&](const char* name, const bench::Sinks& sinks) {
        contenders.push_back({name, [sinks, &kafka] { return bench::cost_of(sinks, kafka); }});
        if (contenders.size() == 1) return;
        goals.push_back({.contender = name, .to = "no sink", .of = bench::Statistic::p50, .at_most = 1.03});
        goals.push_back({.contender = name, .to = "no sink", .of = bench::Statistic::p99, .at_most = 1.10});
    };
    add("no sink", {});
    add("tcp", {.tcp = true});
    add("web", {.web = true});
    add("csv", {.csv = true});
    add("udp", {.udp = true});
    add("journal", {.journal = true});
    add("journal and kafka", {.kafka = Broker::takes});
    if (gateway::mqtt::is_built()) add("mqtt", {.mqtt = Broker::takes});
    bench::compare(
        {.question = "What does each sink cost the receive path?",
         .unit = "ns",
         .goals = goals,
         .measured = "from the kernel's receive time until the quote is in the ring, as the gateway records it, "
                     "with one sink that somebody takes from; one datagram at a time, 20 us apart or more, the "
                     "receive thread alone on its processor and spinning",
         .not_measured = "what a sink costs on the processor that it runs on"},
        contenders);
}
