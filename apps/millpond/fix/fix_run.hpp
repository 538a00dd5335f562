#pragma once

#include <functional>

#include "fixd/fix_engine.hpp"

namespace millpond::app {

/// Reads the configuration again and completes it. Throws service::ConfigError.
using ReadAgain = std::function<fixd::EngineConfig()>;

/// Returns the fields of the session's messages that are not printed: the engine's mask_tags and fields with secrets.
[[nodiscard]] fix::SecretTags hidden_of(const fixd::EngineConfig& config, const fixd::SessionSettings& session);

/// Runs the engine until `done` returns true or a signal arrives: prints its addresses, watches it, and logs its
/// sessions out at the end. read: for reloads by SIGHUP and on request; if empty, SIGHUP ends it.
void run_engine(fixd::FixEngine& engine, service::Log& log, const ReadAgain& read,
                const std::function<bool()>& done = {});

}  // namespace millpond::app
