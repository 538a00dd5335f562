#include "gateway/sinks/mqtt/client.hpp"

#include <fmt/format.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <system_error>

namespace millpond::gateway::mqtt {
namespace {

constexpr const char* kSystemAuthorities = "/etc/ssl/certs";
/// Number of MQTT packet identifiers, and so of messages in flight.
constexpr std::uint64_t kMaxInFlight = 65'535;

/// Initializes libmosquitto once for the process.
void need_library() {
    static const int started = mosquitto_lib_init();
    static_cast<void>(started);
}

void check(int error, const std::string& what) {
    if (error != MOSQ_ERR_SUCCESS) throw std::runtime_error(fmt::format("{}: {}", what, reason(error)));
}

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

void configure_tls(mosquitto* client, const Tls& tls, const std::string& sink) {
    const char* folder = tls.authority.empty() ? kSystemAuthorities : nullptr;
    check(mosquitto_tls_set(client, text_or_null(tls.authority), folder, text_or_null(tls.certificate),
                            text_or_null(tls.key), nullptr),
          fmt::format("{}: tls: authority '{}', certificate '{}', key '{}'", sink, tls.authority, tls.certificate,
                      tls.key));
}

}  // namespace

void DestroyClient::operator()(mosquitto* client) const noexcept { mosquitto_destroy(client); }

std::string reason(int error) {
    return error == MOSQ_ERR_ERRNO ? std::generic_category().message(errno) : mosquitto_strerror(error);
}

Client make_client(const Settings& settings, const std::string& password, std::string_view will, void* self) {
    need_library();
    Client client{mosquitto_new(text_or_null(settings.client_id), true, self)};
    const auto what = fmt::format("mqtt sink '{}'", settings.name);
    if (!client) throw std::runtime_error(fmt::format("{}: {}", what, std::generic_category().message(errno)));
    auto* raw = client.get();
    check(mosquitto_int_option(raw, MOSQ_OPT_PROTOCOL_VERSION,
                               settings.protocol == Protocol::v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311),
          what);
    check(mosquitto_int_option(raw, MOSQ_OPT_TCP_NODELAY, 1), what);
    check(mosquitto_int_option(raw, MOSQ_OPT_SEND_MAXIMUM, static_cast<int>(std::min(settings.window, kMaxInFlight))),
          what);
    if (!settings.user.empty()) {
        check(mosquitto_username_pw_set(raw, settings.user.c_str(), text_or_null(password)), what);
    }
    check(mosquitto_will_set(raw, settings.state_topic.c_str(), static_cast<int>(will.size()), will.data(),
                             settings.qos, true),
          what);
    if (settings.tls.on) configure_tls(raw, settings.tls, what);
    return client;
}

}  // namespace millpond::gateway::mqtt
