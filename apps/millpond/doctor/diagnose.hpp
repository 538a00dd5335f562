#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/doctor/finding.hpp"

namespace millpond::app::doctor {

/// Observations of a feed's path into this machine.
struct FeedFacts {
    std::string feed;
    std::string format;
    net::SocketAddress listen;
    net::SocketAddress connect;    ///< Server of a feed that receives by TCP; empty for others.
    std::string connection_error;  ///< Why the server could not be reached; empty if it could.
    std::string interface;         ///< Interface of the datagrams, as configured or by the route; empty: any.
    bool interface_exists{true};
    bool interface_up{true};  ///< Interface is administratively up.
    bool carrier{true};
    std::vector<std::string> joined_on;  ///< Interfaces that had joined the group before this check.
    bool gateway_runs{false};            ///< A process has a socket on the port.
    bool gateway_queried{false};         ///< Whether a gateway's health was requested.
    std::string gateway_error;           ///< Reason why the gateway did not answer; empty if it did.

    bool link_watched{false};        ///< Whether frames could be inspected (needs CAP_NET_RAW).
    std::uint64_t on_link{0};        ///< Datagrams to the feed's address seen on the interface.
    std::uint64_t on_other_link{0};  ///< Datagrams to the feed's address seen on other interfaces.
    std::string other_interface;     ///< Name of one of the other interfaces.
    std::uint16_t vlan{0};           ///< VLAN tag of these datagrams that the interface does not remove; 0: none.
    net::SocketAddress sender;       ///< Sender of the first datagram.
    std::string route_to_sender;     ///< Interface of the route to the sender; empty: no route.
    int rp_filter{0};  ///< rp_filter of the interface: the stricter of its own and that of `all`; 0, 1 or 2.
    std::vector<std::string> dropping_rules;

    bool socket_opened{false};                      ///< Whether a socket of this check could receive.
    std::string socket_error;                       ///< Error of that socket.
    std::uint64_t at_socket{0};                     ///< Datagrams received by that socket.
    std::optional<std::uint64_t> gateway_received;  ///< Datagrams received by the gateway meanwhile, if known.
    std::uint64_t kernel_drops{0};                  ///< Drops of all sockets on the port.
    std::uint64_t receive_buffer{0};                ///< Receive buffer as configured.

    std::uint64_t decoded{0};        ///< Datagrams accepted by the decoder.
    std::uint64_t rejected{0};       ///< Datagrams rejected by the decoder.
    std::string first_error;         ///< Error of the first rejected datagram.
    std::string first_rejected_hex;  ///< Bytes of the first rejected datagram.
    double seconds{0};               ///< Duration of the observation.

    std::vector<Finding> gateway_findings;  ///< The gateway's findings for the feed and its sinks.
};

/// Checks each stage from the link to the decoder. A passed stage is a good finding; the first failed stage is the last
/// finding. If all pass, the gateway's own findings follow.
[[nodiscard]] std::vector<Finding> diagnose(const FeedFacts& facts);

}  // namespace millpond::app::doctor
