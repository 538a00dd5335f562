#pragma once

#include "fixd/settings/engine_config.hpp"

namespace millpond::fixd {

/// Checks the drop copies of a configuration whose sessions are complete, and replaces the names of sessions by those
/// of session_name. Throws ConfigErrors with all errors: a session that does not exist, or an ambiguous name; a target
/// that is a template, is copied itself, has two drop copies or resets its numbers at a logon, a logout or a
/// disconnect; a source whose application versions the target does not support.
void complete_drop_copies(EngineConfig& config);

}  // namespace millpond::fixd
