#pragma once

#include <string>
#include <vector>

#include <millpond/engine/initiator.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/fix/secret_mask.hpp>

#include "fixd/settings/dictionaries.hpp"
#include "fixd/settings/session_settings.hpp"

/// Converts settings to options of the engine.
namespace millpond::fixd {

/// The engine's name of the session: "FIX.4.4:HOUSE->DESK".
[[nodiscard]] std::string session_name(const SessionSettings& settings);
/// Tags of logon and header fields whose values come from a file or the environment.
[[nodiscard]] std::vector<fix::Tag> secret_tags(const SessionSettings& settings);
/// The secret tags, with the data fields of the session's dictionaries.
[[nodiscard]] fix::SecretTags secrets_of(const SessionSettings& settings, const engine::SessionOptions& options);

/// The files that a session reads: secrets, TLS files, dictionaries.
[[nodiscard]] std::vector<std::string> files_read(const SessionSettings& settings, const Dictionaries& dictionaries);

/// Reads every secret and TLS file that the session names. Throws service::ConfigError or std::runtime_error.
void check_files(const SessionSettings& settings, const engine::SessionOptions& options);

/// Throws service::ConfigError if a secret cannot be read.
[[nodiscard]] engine::SessionOptions session_options(const SessionSettings& settings, Dictionaries& dictionaries);
[[nodiscard]] engine::Initiator::Options initiator_options(const SessionSettings& settings);

}  // namespace millpond::fixd
