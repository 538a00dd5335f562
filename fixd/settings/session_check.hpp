#pragma once

#include "fixd/settings/engine_config.hpp"

namespace millpond::fixd {

/// Fills in settings that follow from the engine's, and checks that settings fit together. config: with complete
/// acceptors. Throws ConfigError.
void complete_session(const EngineConfig& config, SessionSettings& session);

}  // namespace millpond::fixd
