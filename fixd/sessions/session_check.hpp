#pragma once

#include "fixd/engine_config.hpp"

namespace millpond::fixd {

/// Fills in what follows from the engine's settings and checks what no single key can. config: its acceptors are
/// complete. Throws ConfigError.
void complete_session(const EngineConfig& config, SessionSettings& session);

}  // namespace millpond::fixd
