#pragma once

#include <memory>
#include <string>

#include <millpond/engine/tls.hpp>

#include "transport.hpp"

namespace millpond::engine {

/// host: of a client, the name that it connects to. Takes the socket over.
[[nodiscard]] std::unique_ptr<Transport> make_tls_transport(const TlsContext& context, core::Descriptor socket,
                                                            const std::string& host);

}  // namespace millpond::engine
