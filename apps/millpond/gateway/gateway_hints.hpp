#pragma once

#include "gateway/gateway.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::app {

/// Prints the gateway's addresses and example commands; each works as printed on a bare Debian.
///
/// config: of this gateway; the addresses are those of its first sinks.
void print_hints(const gateway::Config& config, const gateway::Gateway& gateway);

}  // namespace millpond::app
