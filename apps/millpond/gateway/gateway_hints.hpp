#pragma once

#include "gateway/gateway.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::app {

/// Prints the gateway's addresses and example commands; each works as printed on a bare Debian.
///
/// config: the gateway's configuration. The addresses are those of its first sinks. demo: with commands
/// for a FIX session beside it.
void print_hints(const gateway::Config& config, const gateway::Gateway& gateway, bool demo);

}  // namespace millpond::app
