#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "gateway/json_lines/depth.hpp"
#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/sink.hpp"
#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::gateway {

/// Settings of the sinks that send JSON lines to clients: tcp and web.
struct JsonLinesSettings : SinkBasics {
    static constexpr std::uint64_t kMaxReplays = 4;

    JsonLinesSettings(std::string_view address, Delivery default_mode, std::uint64_t default_send_buffer)
        : listen(net::SocketAddress::parse(address)), mode(default_mode), send_buffer(default_send_buffer) {}

    net::SocketAddress listen;         ///< Listening address; port 0: chosen by the kernel, see Sink::address.
    Delivery mode;                     ///< Initial mode of each client.
    std::uint64_t backlog{16'384};     ///< JSON lines that a client may fall behind, a power of two.
    std::uint64_t max_clients{1'024};  ///< Maximum number of clients; more are refused with a reason.
    std::uint64_t send_buffer;         ///< Kernel send buffer of each client, in bytes.
    std::chrono::nanoseconds stall{
        std::chrono::seconds{10}};  ///< Time without accepted data after which a client is disconnected.
    json_lines::Entitlement entitlement{json_lines::Entitlement::orders};  ///< What clients may subscribe to.
    std::optional<std::uint64_t> max_replays;  ///< Maximum number of replays at a time; unset: kMaxReplays.
    std::filesystem::path journal;             ///< Folder of the ring's journal; empty: none. Not a key.
    std::chrono::nanoseconds journal_patience{std::chrono::seconds{10}};  ///< Of replays. Not a key.
    service::TokenSource token;  ///< The token that clients must present; empty: none.
    tls::Options tls;            ///< TLS files; empty: no TLS.
    friend bool operator==(const JsonLinesSettings&, const JsonLinesSettings&) = default;
};

/// Token and certificates for clients, read from the files and variables that JsonLinesSettings name.
struct ClientAccess {
    service::Token token{};
    tls::Context tls{};
};

/// Reads the token and the certificates. Throws ConfigError.
[[nodiscard]] ClientAccess read_access(const JsonLinesSettings& settings);

/// Finds the journal of the sink's ring. Throws ConfigError if max_replays is set and there is none.
void complete_replays(JsonLinesSettings& settings, const SinkContext& context);

/// Returns the port as an output, which no other listener of the gateway may have.
[[nodiscard]] std::vector<SinkOutput> json_lines_outputs(const JsonLinesSettings& settings);

/// Returns service::exposure of the listening address.
[[nodiscard]] std::string json_lines_exposure(const JsonLinesSettings& settings);

}  // namespace millpond::gateway
