#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/mqtt/settings.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "gateway/sinks/topic.hpp"
#include "service/tls.hpp"

namespace millpond::gateway::mqtt {
namespace {

using settings::ConfigError;
using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr std::pair<std::string_view, Protocol> kProtocols[] = {{"3.1.1", Protocol::v3_1_1}, {"5", Protocol::v5}};

/// HOST:PORT, [ADDRESS]:PORT
void assign_broker(Settings& s, const settings::Value& v) {
    const auto text = v.text();
    const auto colon = text.rfind(':');
    std::uint16_t port = 0;
    const bool numbered =
        colon != std::string::npos && colon != 0 &&
        std::from_chars(text.data() + colon + 1, text.data() + text.size(), port).ptr == text.data() + text.size();
    if (!numbered || port == 0) v.fail("HOST:PORT", "'" + text + "'");
    s.host = text.substr(0, colon);
    s.port = port;
    if (s.host.starts_with('[') && s.host.ends_with(']')) s.host = s.host.substr(1, s.host.size() - 2);
}

constexpr settings::Key<Settings> kKeys[] = {
    Keys::kName,
    Keys::kRing,
    {"broker", "HOST:PORT", "Address of the broker.", assign_broker,
     [](const Settings& s) { return fmt::format("{}:{}", s.host, s.port); }},
    K::text<&Settings::topic>("topic", "TEMPLATE", "Topic of an instrument's quotes, with {symbol} and {venue}."),
    K::text<&Settings::state_topic>(
        "state_topic", "TOPIC", "Topic of the sink's state, online or offline with a reason; millpond/NAME if unset."),
    K::text<&Settings::client_id>("client_id", "ID", "MQTT client identifier; random if unset."),
    K::choice<&Settings::protocol, kProtocols>("protocol", "3.1.1|5", "Version of MQTT."),
    K::integer<&Settings::qos, 0, 1>(
        "qos", "0|1", "A message is delivered when it is written (0) or when the broker acknowledges it (1)."),
    K::boolean<&Settings::retain>("retain", "Have the broker retain the newest quote for later subscribers."),
    K::choice<&Settings::mode, kDeliveries>(
        "mode", "every|conflate", "Send every quote, or the newest of each instrument when the link is slow."),
    K::text<&Settings::user>("user", "NAME", "User name at the broker."),
    K::text<[](auto& s) -> auto& { return s.password.file; }>("password_file", "FILE",
                                                              "File whose first line is the user's password."),
    K::text<[](auto& s) -> auto& { return s.password.environment; }>("password_env", "NAME",
                                                                     "Environment variable with the user's password."),
    K::boolean<[](auto& s) -> auto& { return s.tls.on; }>("tls",
                                                          "Use TLS, and verify the broker's name and certificate."),
    K::text<[](auto& s) -> auto& { return s.tls.authority; }>(
        "tls_ca", "FILE", "PEM file with the authority of the broker's certificate; the system's if unset."),
    K::text<[](auto& s) -> auto& { return s.tls.certificate; }>("tls_certificate", "FILE",
                                                                "PEM file with the client certificate."),
    K::text<[](auto& s) -> auto& { return s.tls.key; }>("tls_key", "FILE", "PEM file with its private key."),
    K::integer<&Settings::keepalive_seconds, 5, 65'535>("keepalive_seconds", "N", "Keep-alive interval, in seconds."),
    K::power_of_two<&Settings::window, 2, 32'768>("window", "MESSAGES",
                                                  "Maximum number of messages in flight; a power of two."),
    K::bytes<&Settings::send_buffer>("send_buffer", "Kernel send buffer."),
    K::integer<&Settings::reconnect_ms, 1, 60'000>("reconnect_ms", "N",
                                                   "Pause before the first reconnect; each attempt doubles it."),
    K::integer<&Settings::reconnect_most_ms, 1, 3'600'000>("reconnect_most_ms", "N",
                                                           "Longest pause between reconnects."),
    Keys::kPoll,
    Keys::kPin,
};

Options options_of(const Settings& settings) {
    return {.name = settings.name,
            .host = settings.host,
            .port = settings.port,
            .topic = settings.topic,
            .state_topic = settings.state_topic,
            .client_id = settings.client_id,
            .protocol = settings.protocol,
            .qos = static_cast<int>(settings.qos),
            .retain = settings.retain,
            .mode = settings.mode,
            .user = settings.user,
            .password = service::read_secret(settings.password, "password"),
            .tls = settings.tls,
            .keepalive = std::chrono::seconds{settings.keepalive_seconds},
            .window = settings.window,
            .send_buffer = settings.send_buffer,
            .reconnect = std::chrono::milliseconds{settings.reconnect_ms},
            .reconnect_longest = std::chrono::milliseconds{settings.reconnect_most_ms}};
}

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "mqtt"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "newest quotes to an MQTT broker"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void complete(Settings& settings, const SinkContext& context) const override {
        const auto& user = context.user;
        if (!is_built()) throw ConfigError(user + ": this build has no MQTT: libmosquitto-dev was missing");
        if (settings.state_topic.empty()) settings.state_topic = "millpond/" + settings.name;
        check_topic(user, "topic", settings.topic, TopicRules::mqtt);
        if (settings.retain && settings.topic.find("{symbol}") == std::string::npos) {
            throw ConfigError(fmt::format(
                "{}: topic '{}' has no {{symbol}}: the broker would retain a single quote for all instruments; "
                "use retain = false",
                user, settings.topic));
        }
        check_topic(user, "state_topic", settings.state_topic, TopicRules::mqtt);
        auto& tls = settings.tls;
        tls.on = tls.on || !tls.authority.empty() || !tls.certificate.empty();
        if (tls.certificate.empty() != tls.key.empty()) {
            throw ConfigError(user + ": tls_certificate and tls_key go together");
        }
        if (settings.user.empty() && !settings.password.empty()) throw ConfigError(user + ": password without a user");
        if (settings.reconnect_most_ms < settings.reconnect_ms) {
            throw ConfigError(fmt::format("{}: reconnect_most_ms {} is less than reconnect_ms {}", user,
                                          settings.reconnect_most_ms, settings.reconnect_ms));
        }
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        const auto broker = fmt::format("{}:{}", settings.host, settings.port);
        std::vector<SinkOutput> outputs{
            {.name = fmt::format("{} of ring {} at {}", settings.topic, settings.ring, broker), .claim = {}}};
        // A broker ends the older of two connections with one client id.
        if (!settings.client_id.empty())
            outputs.push_back({.name = fmt::format("client {} at {}", settings.client_id, broker), .claim = {}});
        return outputs;
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        if (settings.tls.on) {
            service::check_client_files(settings.tls.authority, settings.tls.certificate, settings.tls.key);
        }
        return prepare_ring_sink(
            {.basics = static_cast<const SinkBasics&>(settings)},
            [options = options_of(settings)](const SinkHost& host) { return mqtt::open(options, host.say); });
    }
};

}  // namespace

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::mqtt
