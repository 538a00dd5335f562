#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/count_of.hpp"
#include "gateway/sinks/kind_of.hpp"
#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::gateway {

/// Settings of the sinks that send JSON lines to clients: tcp and web.
struct LineSettings : SinkBasics {
    /// options: of the sink, with its defaults.
    template <class Options>
    LineSettings(std::string_view address, const Options& options)
        : listen(net::SocketAddress::parse(address)),
          mode(options.mode),
          backlog(options.backlog),
          max_clients(options.max_clients),
          send_buffer(options.send_buffer),
          stall_seconds(count_of<std::chrono::seconds>(options.stall)) {}

    net::SocketAddress listen;
    Delivery mode;          ///< A client's mode until it asks for the other.
    std::uint64_t backlog;  ///< JSON lines that a client may fall behind, a power of two.
    std::uint64_t max_clients;
    std::uint64_t send_buffer;    ///< Bytes that the kernel may hold for a client.
    std::uint64_t stall_seconds;  ///< A client that accepts no data for this long is disconnected.
    service::TokenSource token;   ///< What clients must present; nothing when empty.
    service::TlsOptions tls;      ///< Plain when empty.
    friend bool operator==(const LineSettings&, const LineSettings&) = default;
};

template <class Settings>
constexpr auto line_keys() {
    using S = Settings;
    using K = settings::KeyOf<S>;
    using Keys = SinkKeys<S>;
    constexpr std::uint64_t kMostLines = 1ULL << 24;
    return std::to_array<settings::Key<S>>({
        Keys::kName,
        Keys::kRing,
        K::template endpoint<&S::listen>("listen", "Address and port to listen on."),
        K::template choice<&S::mode, kDeliveries>(
            "mode", "every|conflate",
            "Send every quote, or only the newest of each instrument, until the client asks for the other mode."),
        K::template power_of_two<&S::backlog, 64, kMostLines>(
            "backlog", "LINES", "Number of JSON lines that a client may fall behind; a power of two."),
        K::template integer<&S::max_clients, 1, 100'000>("max_clients", "N",
                                                         "Maximum number of clients; more are refused with a reason."),
        K::template bytes<&S::send_buffer>("send_buffer", "Kernel send buffer of each client."),
        K::template integer<&S::stall_seconds, 1, 86'400>(
            "stall_seconds", "N", "Disconnect a client that accepts no data for this many seconds."),
        K::template text<[](auto& s) -> auto& { return s.token.file; }>(
            "token_file", "FILE", "File with the bearer token that clients must present."),
        K::template text<[](auto& s) -> auto& { return s.token.environment; }>(
            "token_env", "NAME", "Environment variable with the bearer token that clients must present."),
        K::template text<[](auto& s) -> auto& { return s.tls.certificate; }>(
            "tls_certificate", "FILE", "PEM file with the server certificate and its intermediates; enables TLS."),
        K::template text<[](auto& s) -> auto& { return s.tls.key; }>(
            "tls_key", "FILE", "PEM file with the private key; it must not be readable by all users."),
        K::template text<[](auto& s) -> auto& { return s.tls.client_ca; }>(
            "tls_client_ca", "FILE",
            "PEM file with certificate authorities; clients must present a certificate of one."),
        Keys::kPoll,
        Keys::kPin,
    });
}

/// The sink's options as it runs. Reads the token and the certificates. Throws ConfigError.
template <class Options>
Options line_options(const LineSettings& settings) {
    return {.name = settings.name,
            .listen = settings.listen,
            .mode = settings.mode,
            .backlog = settings.backlog,
            .max_clients = settings.max_clients,
            .send_buffer = settings.send_buffer,
            .stall = std::chrono::seconds{settings.stall_seconds},
            .token = service::Token{settings.token},
            .tls = service::TlsContext{settings.tls}};
}

/// Its port, which no other listener of the gateway may have.
[[nodiscard]] std::vector<SinkOutput> line_outputs(const LineSettings& settings);

/// Throws std::system_error if the machine does not have the address; the port is not checked.
void check_listen_host(const net::SocketAddress& listen);

}  // namespace millpond::gateway
