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

#include <millpond/market/board_layout.hpp>

#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/mqtt/settings.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "gateway/sinks/topic.hpp"
#include "service/config_error.hpp"
#include "service/tls.hpp"

namespace millpond::gateway::mqtt {
namespace {

using service::ConfigError;
using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr std::pair<std::string_view, Protocol> kProtocols[] = {{"3.1.1", Protocol::v3_1_1}, {"5", Protocol::v5}};

/// Assigns HOST:PORT or [ADDRESS]:PORT.
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
    K::text<&Settings::book_topic>("book_topic", "TEMPLATE",
                                   "Topic of an instrument's best levels, like topic; without it they are not sent."),
    K::integer<&Settings::book_depth, 1, market::kMaxBoardDepth>("book_depth", "N",
                                                                 "Levels of a side on book_topic; 10 if unset."),
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
    K::file<[](auto& s) -> auto& { return s.password.file; }>("password_file",
                                                              "File whose first line is the user's password."),
    K::text<[](auto& s) -> auto& { return s.password.environment; }>("password_env", "NAME",
                                                                     "Environment variable with the user's password."),
    K::boolean<[](auto& s) -> auto& { return s.tls.on; }>("tls",
                                                          "Use TLS, and verify the broker's name and certificate."),
    K::file<[](auto& s) -> auto& { return s.tls.authority; }>(
        "tls_ca", "PEM file with the authority of the broker's certificate; the system's if unset."),
    K::file<[](auto& s) -> auto& { return s.tls.certificate; }>("tls_certificate",
                                                                "PEM file with the client certificate."),
    K::file<[](auto& s) -> auto& { return s.tls.key; }>(
        "tls_key", "PEM file with its private key; it must not be readable by all users."),
    K::removed("keepalive_seconds", "15 s"),
    K::removed("window", "1024 messages in flight"),
    K::removed("send_buffer", "64 KiB"),
    K::removed("reconnect_ms", "250 ms, doubled up to 30 s"),
    K::removed("reconnect_most_ms", "30 s"),
    K::removed("poll", "adaptive"),
    K::removed("pin", "any CPU"),
};

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "mqtt"; }
    [[nodiscard]] std::string_view summary() const noexcept override {
        return "newest quotes and books to an MQTT broker";
    }

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
        complete_books(settings, user);
        check_topic(user, "state_topic", settings.state_topic, TopicRules::mqtt);
        auto& tls = settings.tls;
        tls.on = tls.on || !tls.authority.empty() || !tls.certificate.empty();
        if (tls.certificate.empty() != tls.key.empty()) {
            throw ConfigError(user + ": tls_certificate and tls_key go together");
        }
        if (settings.user.empty() && !settings.password.empty()) throw ConfigError(user + ": password without a user");
    }
    static void complete_books(Settings& settings, const std::string& user) {
        const auto& topic = settings.book_topic;
        if (topic.empty()) {
            if (settings.book_depth) throw ConfigError(user + ": book_depth: needs book_topic");
            return;
        }
        if (!settings.book_depth) settings.book_depth = kBookDepth;
        check_topic(user, "book_topic", topic, TopicRules::mqtt);
        if (settings.retain && topic.find("{symbol}") == std::string::npos) {
            throw ConfigError(fmt::format(
                "{}: book_topic '{}' has no {{symbol}}: the broker would retain a single book for all instruments; "
                "use retain = false",
                user, topic));
        }
        if (topic == settings.topic) {
            throw ConfigError(fmt::format("{}: book_topic '{}' is the topic of the quotes", user, topic));
        }
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        const auto broker = fmt::format("{}:{}", settings.host, settings.port);
        const auto topic = [&](const std::string& text, std::string_view key) {
            return SinkOutput{.name = fmt::format("{} of ring {} at {}", text, settings.ring, broker),
                              .claim = {},
                              .keys = {key, "ring", "broker"}};
        };
        std::vector<SinkOutput> outputs{topic(settings.topic, "topic")};
        if (!settings.book_topic.empty()) outputs.push_back(topic(settings.book_topic, "book_topic"));
        // Two sinks cannot share a client id: a broker ends the older of two connections with the same one.
        if (!settings.client_id.empty())
            outputs.push_back({.name = fmt::format("client {} at {}", settings.client_id, broker),
                               .claim = {},
                               .keys = {"client_id", "broker"}});
        return outputs;
    }
    [[nodiscard]] std::uint32_t depth(const Settings& settings) const override {
        return settings.book_depth.value_or(0);
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        if (settings.tls.on) {
            service::check_client_files(settings.tls.authority, settings.tls.certificate, settings.tls.key);
        }
        const bool has_books = !settings.book_topic.empty();
        return prepare_ring_sink({.basics = static_cast<const SinkBasics&>(settings),
                                  .holds = has_books ? kBookInterval : std::chrono::milliseconds{0}},
                                 [settings, password = service::read_secret(settings.password, "password")](
                                     const SinkHost& host) { return mqtt::open(settings, password, host.log); });
    }
};

}  // namespace

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::mqtt
