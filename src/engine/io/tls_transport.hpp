#pragma once

#include <memory>
#include <string>

#include <millpond/tls/context.hpp>

#include "src/engine/io/transport.hpp"

namespace millpond::engine {

/// Creates a TLS transport on the socket, which it owns from now on. host: for a client, the name of the server.
[[nodiscard]] std::unique_ptr<Transport> make_tls_transport(const tls::Context& context, core::Descriptor socket,
                                                            const std::string& host);

}  // namespace millpond::engine
