#pragma once

#include <string>
#include <vector>

#include "fixd/settings/engine_config.hpp"
#include "service/settings/errors.hpp"

namespace millpond::fixd {

/// Reads the user_file, if there is one. Returns a sentence for each user of a session that has no line in it. Throws
/// as UserFile::check.
[[nodiscard]] std::vector<std::string> check_users(const EngineConfig& config);

/// Checks what a start of the engine needs from this machine: users, dictionaries, secrets, certificates, addresses to
/// listen on, and folders for stores and logs. Changes nothing. config: completed; sections marked as bad are skipped.
/// Returns warnings, as sentences.
[[nodiscard]] std::vector<std::string> check_start(const EngineConfig& config, settings::Errors& errors);

}  // namespace millpond::fixd
