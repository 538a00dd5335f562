#pragma once

#include <memory>
#include <string>

#include "gateway/sinks/mqtt/settings.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::mqtt {

/// Whether this build has libmosquitto.
[[nodiscard]] bool is_built() noexcept;

/// Opens the sink of mqtt_sink.hpp. password: empty if there is none. Throws std::runtime_error if this build has no
/// libmosquitto, std::invalid_argument for an invalid topic, std::runtime_error with libmosquitto's message for
/// settings that it refuses.
[[nodiscard]] std::unique_ptr<Sink> open(const Settings& settings, const std::string& password,
                                         service::LogFunction log);

}  // namespace millpond::gateway::mqtt
