#pragma once

#include <string>

#include <millpond/net/socket_address.hpp>

#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::service {

/// Sentence that says why a server at this address is open to other machines. Empty if there is no address, if it is a
/// loopback address, or if clients must present a token or a certificate and TLS encrypts their connections.
[[nodiscard]] std::string exposure(const net::SocketAddress& listen, const TokenSource& token = {},
                                   const tls::Options& tls = {});

/// Throws std::system_error if the machine does not have the address; the port is not checked.
void check_listen_host(const net::SocketAddress& listen);

}  // namespace millpond::service
