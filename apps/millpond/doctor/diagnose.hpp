#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/doctor/finding.hpp"

namespace millpond::app::doctor {

/// What was observed of a feed's path into this machine.
struct FeedFacts {
    std::string feed;
    std::string format;
    net::SocketAddress listen;
    std::string interface;  ///< Where datagrams are expected: as configured, or by the route; empty: any.
    bool interface_exists{true};
    bool interface_up{true};  ///< Set up by the operator.
    bool carrier{true};
    std::vector<std::string> joined_on;  ///< Interfaces that had joined the group before this check.
    bool gateway_runs{false};            ///< A process has a socket on the port.
    bool gateway_asked{false};           ///< Whether a gateway was asked for its health,
    std::string gateway_silence;         ///< and why it did not answer; empty: it did.

    bool link_watched{false};        ///< Whether frames could be inspected (needs CAP_NET_RAW).
    std::uint64_t on_link{0};        ///< Datagrams to the address seen on the interface,
    std::uint64_t on_other_link{0};  ///< and on others;
    std::string other_interface;     ///< one of these.
    std::uint16_t vlan{0};           ///< VLAN tag that they carried and that the interface does not remove; 0: none.
    net::SocketAddress sender;       ///< Of the first of them.
    std::string route_to_sender;     ///< Interface that a reply would leave by; empty: no route.
    int rp_filter{0};  ///< rp_filter of the interface: the stricter of its own and that of `all`; 0, 1 or 2.
    std::vector<std::string> dropping_rules;

    bool socket_opened{false};                  ///< Whether a socket of this look's own received.
    std::string socket_error;                   ///< Why not.
    std::uint64_t at_socket{0};                 ///< Datagrams that it got.
    std::optional<std::uint64_t> gateway_took;  ///< Datagrams that the gateway received meanwhile, if known.
    std::uint64_t kernel_drops{0};              ///< Of all sockets on the port.
    std::uint64_t receive_buffer{0};            ///< As configured.

    std::uint64_t decoded{0};        ///< Datagrams that the decoder took,
    std::uint64_t rejected{0};       ///< and did not take;
    std::string first_error;         ///< its error for the first,
    std::string first_rejected_hex;  ///< and its bytes.
    double seconds{0};               ///< Duration of the observation.

    std::vector<Finding> gateway_findings;  ///< The gateway's findings for the feed and its sinks.
};

/// Checks each stage from the link to the decoder. A stage that passes is a good finding; the first that fails is the
/// last finding. If all pass, the gateway's own findings follow.
[[nodiscard]] std::vector<Finding> diagnose(const FeedFacts& facts);

}  // namespace millpond::app::doctor
