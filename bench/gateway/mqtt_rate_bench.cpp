// Measured:     from the first quote until a subscriber of the last one's topic has it: quotes as JSON of 64 symbols,
//               retained, to a real mosquitto, which takes a connection's messages in order. The sink reads a ring and
//               encodes them, with a window of 1,024; the bare client sends one finished value, as many on their way.
// Not measured: connecting, conflation, a slow link, the broker's work for subscribers.
#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/market/ring_writer.hpp>

#include "bench/gateway/line_price.hpp"
#include "bench/gateway/mqtt_client.hpp"
#include "bench/harness/compare.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/sink_thread.hpp"
#include "tests/gateway/sinks/mqtt/mosquitto_broker.hpp"

namespace {

using namespace millpond;
using gateway::test::MosquittoBroker;

constexpr std::size_t kSymbols = 64;
constexpr std::size_t kWindow = 1'024;
constexpr std::uint64_t kRing = 65'536;
constexpr const char* kLast = "bbo/LAST";

std::uint64_t count() { return bench::scaled(10'000); }

/// The last quote is of a separate instrument.
feed::Quote quote_of(std::uint64_t number) {
    feed::Quote quote;
    quote.instrument = static_cast<feed::InstrumentId>(number == count() ? kSymbols : number % kSymbols);
    quote.bid_price = feed::price_from<10'000>(static_cast<std::uint32_t>(1'000'000 + number));
    quote.ask_price = quote.bid_price + feed::price_from<10'000>(200);
    quote.bid_size = 300;
    quote.ask_size = 200;
    return quote;
}

std::string symbol_of(std::size_t id) { return id == kSymbols ? "LAST" : "SYM" + std::to_string(id); }

/// Waits for the last message. Returns nanoseconds per message since `start`, and its price as the answer.
bench::Finding until_last(bench::MqttClient& subscriber, std::int64_t start) {
    const auto last = static_cast<std::uint64_t>(feed::in_venue_scale<10'000>(quote_of(count()).bid_price));
    // Retained messages arrive first.
    while (bench::bid_of(subscriber.read_line()) != last) {
    }
    return {.value = static_cast<double>(core::monotonic_nanos() - start) / static_cast<double>(count()),
            .answer = last};
}

bool is_connected(const gateway::SinkThread& thread) {
    bool is = false;
    thread.visit_metrics([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == "connected") is = tally.read() == 1;
    });
    return is;
}

/// Publishes a value on the last message's topic that differs from an earlier run's.
void forget_last(const MosquittoBroker& broker) {
    bench::MqttClient client{broker.port()};
    client.publish(kLast, "{}", 1);
    while (client.unconfirmed() != 0) client.work();
}

bench::Finding bare(const MosquittoBroker& broker, int qos) {
    forget_last(broker);
    bench::MqttClient client{broker.port()};
    bench::MqttClient subscriber{broker.port(), kLast};
    std::array<std::string, kSymbols + 1> topics;
    for (std::size_t id = 0; id <= kSymbols; ++id) topics[id] = "bbo/" + symbol_of(id);
    std::array<char, feed::kMaxJsonBytes> buffer;
    const auto value = feed::quote_json(buffer, quote_of(count()), feed::JsonSymbol{feed::Symbol{"LAST"}}, 1);
    const auto start = core::monotonic_nanos();
    for (std::uint64_t n = 1; n <= count(); ++n) {
        while (client.unconfirmed() >= kWindow || client.wants_write()) client.work();
        client.publish(topics[quote_of(n).instrument], value, qos);
    }
    while (client.unconfirmed() != 0) client.work();
    return until_last(subscriber, start);
}

bench::Finding sink(const MosquittoBroker& broker, int qos) {
    forget_last(broker);
    bench::MqttClient subscriber{broker.port(), kLast};
    const auto ring = "mqtt-rate-" + std::to_string(getpid());
    market::RingWriter writer{{.name = ring, .capacity = kRing, .max_instruments = kSymbols + 1}};
    for (std::size_t id = 0; id <= kSymbols; ++id) {
        writer.name(static_cast<feed::InstrumentId>(id), feed::Venue{"X"}, feed::Symbol{symbol_of(id)});
    }
    const auto say = [](service::Severity severity, std::string_view, const std::string& text) {
        if (severity != service::Severity::info) throw std::runtime_error(text);  // a run needs its broker
    };
    gateway::mqtt::Settings settings;
    settings.port = broker.port();
    settings.state_topic = "millpond/mqtt";
    settings.qos = qos;
    settings.mode = gateway::Delivery::every;
    settings.window = kWindow;
    gateway::SinkThread thread{{.ring = ring, .name = "mqtt"}, gateway::mqtt::open(settings, {}, say), say};
    thread.start();
    while (!is_connected(thread)) std::this_thread::yield();
    const auto start = core::monotonic_nanos();
    for (std::uint64_t n = 1; n <= count(); ++n) writer.publish(quote_of(n));
    return until_last(subscriber, start);
}

}  // namespace

int main() {
    if (!MosquittoBroker::is_installed()) {
        std::puts("mqtt_rate_bench: left out, mosquitto is not installed");
        return 0;
    }
    const millpond::test::Folder folder{"mqtt_rate"};
    const MosquittoBroker broker{folder, "allow_anonymous true\nset_tcp_nodelay true\nmax_inflight_messages 0\n"};
    bench::compare(
        {.question = "What does a quote to mosquitto cost, by the sink and by the bare client?",
         .unit = "ns/message",
         .expected = static_cast<std::uint64_t>(feed::in_venue_scale<10'000>(quote_of(count()).bid_price)),
         .measured = "from the first quote until a subscriber of the last one's topic has it, retained, at most 1,024 "
                     "on their way; the sink reads a ring and encodes JSON, the bare client sends one finished value",
         .not_measured = "connecting, conflation, a slow link, the broker's work for subscribers"},
        {{"bare libmosquitto, QoS 0", [&] { return bare(broker, 0); }},
         {"millpond mqtt sink, QoS 0", [&] { return sink(broker, 0); }},
         {"bare libmosquitto, QoS 1", [&] { return bare(broker, 1); }},
         {"millpond mqtt sink, QoS 1", [&] { return sink(broker, 1); }}});
}
