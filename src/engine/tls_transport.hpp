#pragma once

#include <memory>
#include <string>

#include <millpond/engine/tls.hpp>

#include "transport.hpp"

namespace millpond::engine {

/// host: for a client, the name of the server. Takes ownership of the socket.
[[nodiscard]] std::unique_ptr<Transport> make_tls_transport(const TlsContext& context, core::Descriptor socket,
                                                            const std::string& host);

}  // namespace millpond::engine
