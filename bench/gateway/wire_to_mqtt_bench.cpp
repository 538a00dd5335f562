// Measured:     from before the send call of a bbo28 datagram on loopback until a subscriber of a real mosquitto has
//               the JSON of it, QoS 0, retained; beside it, from before the bare client's publish call. Subscriber and
//               sender are one thread, which sleeps until the broker sends; threads run where the kernel puts them.
// Not measured: a burst, several subscribers, connecting, QoS 1.
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_json.hpp>

#include "bench/gateway/mqtt_client.hpp"
#include "bench/gateway/one_way.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/harness/compare.hpp"
#include "gateway/sinks/mqtt/settings.hpp"
#include "tests/gateway/sinks/mqtt/mosquitto_broker.hpp"

namespace {

using namespace millpond;
using gateway::test::MosquittoBroker;

constexpr const char* kTopic = "bbo/MILLPOND";

// The bare client's publish call with a finished line.
class PublishWire {
public:
    explicit PublishWire(std::uint16_t port) : client_(port) {}
    void prepare(std::uint32_t price) {
        const feed::Quote quote{.bid_price = feed::price_from<10'000>(price),
                                .ask_price = feed::price_from<10'000>(price + 100),
                                .bid_size = 200,
                                .ask_size = 300};
        line_ = feed::quote_json(buffer_, quote, symbol_, 1);
    }
    void send() { client_.publish(kTopic, line_, 0); }

private:
    bench::MqttClient client_;
    feed::JsonSymbol symbol_{feed::Symbol{"MILLPOND"}};
    std::array<char, feed::kMaxJsonBytes> buffer_{};
    std::string_view line_;
};

bench::Finding bare(const MosquittoBroker& broker) {
    bench::roam();
    bench::MqttClient subscriber{broker.port(), kTopic};
    PublishWire wire{broker.port()};
    return bench::follow(wire, subscriber, bench::scaled(1'000));
}

bench::Finding sink(const MosquittoBroker& broker) {
    bench::roam();
    bench::MqttClient subscriber{broker.port(), kTopic};
    bench::RunningGateway gateway{
        {.receive_core = bench::two_cores().second, .poll = core::Poll::adaptive, .also = [&](gateway::Config& config) {
             config.add<gateway::mqtt::Settings>().port = broker.port();
         }}};
    bench::FeedWire wire{gateway.feed_port()};
    return bench::follow(wire, subscriber, bench::scaled(1'000));
}

}  // namespace

int main() {
    if (!MosquittoBroker::is_installed()) {
        std::puts("wire_to_mqtt_bench: left out, mosquitto is not installed");
        return 0;
    }
    const millpond::test::Folder folder{"wire_to_mqtt"};
    const MosquittoBroker broker{folder, "allow_anonymous true\nset_tcp_nodelay true\n"};
    bench::compare(
        {.question = "How long from the wire to an MQTT subscriber?",
         .unit = "us",
         .measured = "from before the send call of a bbo28 datagram on loopback (the bare client: from before "
                     "its publish call) until a subscriber of mosquitto has the JSON, QoS 0, retained, "
                     "mosquitto with set_tcp_nodelay; threads run where the kernel puts them",
         .not_measured = "a burst, several subscribers, connecting, QoS 1"},
        {{"bare libmosquitto, publish to subscriber", [&] { return bare(broker); }},
         {"millpond gateway, mqtt sink", [&] { return sink(broker); }}});
}
