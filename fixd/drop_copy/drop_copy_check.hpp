#pragma once

#include "fixd/engine_config.hpp"

namespace millpond::fixd {

/// Checks the drop copies of a configuration whose sessions are completed, and makes the names of their sessions
/// session_name's. Throws ConfigError: a session that does not exist, or several of the same ids; a target that is a
/// template, is copied itself, has two drop copies or resets its numbers whenever it logs on, logs out or is
/// disconnected; a source whose application versions the target does not carry.
void complete_drop_copies(EngineConfig& config);

}  // namespace millpond::fixd
