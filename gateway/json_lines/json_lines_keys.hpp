#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "gateway/json_lines/json_lines_settings.hpp"
#include "gateway/sinks/kind_of.hpp"

namespace millpond::gateway {

inline constexpr std::pair<std::string_view, json_lines::Entitlement> kEntitlements[] = {
    {"quotes", json_lines::Entitlement::quotes},
    {"levels", json_lines::Entitlement::levels},
    {"orders", json_lines::Entitlement::orders}};

/// Keys of a sink whose Settings derive from JsonLinesSettings.
template <class Settings>
constexpr auto json_lines_keys() {
    using S = Settings;
    using K = settings::KeyOf<S>;
    using Keys = SinkKeys<S>;
    constexpr std::uint64_t kMaxLines = 1ULL << 24;
    return std::to_array<settings::Key<S>>({
        Keys::kName,
        Keys::kRing,
        K::template endpoint<&S::listen>("listen", "Address and port to listen on."),
        K::template choice<&S::mode, kDeliveries>(
            "mode", "every|conflate",
            "Send every quote, or only the newest of each instrument, until the client asks for the other mode."),
        K::template power_of_two<&S::backlog, 64, kMaxLines>(
            "backlog", "LINES", "Number of JSON lines that a client may fall behind; a power of two."),
        K::template integer<&S::max_clients, 1, 100'000>("max_clients", "N",
                                                         "Maximum number of clients; more are refused with a reason."),
        K::template choice<&S::entitlement, kEntitlements>(
            "entitlement", "quotes|levels|orders",
            "What clients may subscribe to beside trades and states: best prices, also levels, also orders."),
        K::template integer<&S::max_replays, 1, 64>(
            "max_replays", "N", "Maximum number of clients that replay the ring's journal at a time; 4 if unset."),
        K::template bytes<&S::send_buffer>("send_buffer", "Kernel send buffer of each client."),
        K::template duration<&S::stall, std::chrono::seconds, 1, 86'400>(
            "stall_seconds", "Disconnect a client that accepts no data for this many seconds."),
        K::template file<[](auto& s) -> auto& { return s.token.file; }>(
            "token_file", "File with the bearer token that clients must present."),
        K::template text<[](auto& s) -> auto& { return s.token.environment; }>(
            "token_env", "NAME", "Environment variable with the bearer token that clients must present."),
        K::template file<[](auto& s) -> auto& { return s.tls.certificate; }>(
            "tls_certificate", "PEM file with the server certificate and its intermediates; enables TLS."),
        K::template file<[](auto& s) -> auto& { return s.tls.key; }>(
            "tls_key", "PEM file with the private key; it must not be readable by all users."),
        K::template file<[](auto& s) -> auto& { return s.tls.authorities; }>(
            "tls_client_ca", "PEM file with certificate authorities; clients must present a certificate of one."),
        Keys::kPoll,
        Keys::kPin,
    });
}

}  // namespace millpond::gateway
