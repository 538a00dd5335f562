// Measured:     the receive path, from the kernel's receive time of a datagram until it is in the ring, as the gateway
//               itself records it, with one sink at a time. One datagram at a time, 20 microseconds apart or more; the
//               receive thread has a processor to itself and spins; sender, sinks, clients and brokers share the other.
// Not measured: what a sink costs on the processor that it runs on.
#include <vector>

#include "bench/gateway/sink_cost.hpp"

int main() {
    using namespace millpond;
    using bench::Broker;
    std::vector<bench::NamedSinks> all{{"no sink", {}},
                                       {"tcp", {.tcp = true}},
                                       {"web", {.web = true}},
                                       {"csv", {.csv = true}},
                                       {"udp", {.udp = true}},
                                       {"journal", {.journal = true}},
                                       {"journal and kafka", {.kafka = Broker::reads}}};
    if (gateway::mqtt::is_built()) all.push_back({"mqtt", {.mqtt = Broker::reads}});
    bench::compare_costs("What does each sink cost the receive path?", ", with one sink whose output is read",
                         "what a sink costs on the processor that it runs on", all);
}
