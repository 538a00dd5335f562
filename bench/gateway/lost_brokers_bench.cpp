// Measured:     the receive path, from the kernel's receive time of a datagram until it is in the ring, as the gateway
//               itself records it, with an mqtt and a kafka sink of whose brokers one takes no more or is not there.
//               One datagram at a time, 20 microseconds apart or more; the receive thread has a processor to itself and
//               spins; sender, sinks and brokers share the other.
// Not measured: what the brokers get; tests look at the accounts.
#include <iostream>

#include "bench/gateway/sink_cost.hpp"

int main() {
    using namespace millpond;
    using bench::Broker;
    if (!gateway::mqtt::is_built()) {
        std::cerr << "lost_brokers_bench: libmosquitto-dev was missing when it was built\n";
        return 1;
    }
    bench::compare_costs("Does a broker that is stuck or dead slow the receive path?",
                         ", with an mqtt and a kafka sink", "what the brokers get",
                         {{"both take", {.mqtt = Broker::reads, .kafka = Broker::reads}},
                          {"MQTT's is stuck", {.mqtt = Broker::stuck, .kafka = Broker::reads}},
                          {"MQTT's is dead", {.mqtt = Broker::dead, .kafka = Broker::reads}},
                          {"Kafka's is stuck", {.mqtt = Broker::reads, .kafka = Broker::stuck}},
                          {"Kafka's is dead", {.mqtt = Broker::reads, .kafka = Broker::dead}}});
}
