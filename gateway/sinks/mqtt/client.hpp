#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gateway/sinks/mqtt/mqtt.hpp"

struct mosquitto;

namespace millpond::gateway::mqtt {

struct DestroyClient {
    void operator()(mosquitto* client) const noexcept;
};
using Client = std::unique_ptr<mosquitto, DestroyClient>;

/// A client of libmosquitto with these settings and this last will, not connected; its callbacks are given `self`.
/// Throws std::runtime_error with libmosquitto's words for settings that it refuses.
[[nodiscard]] Client make_client(const Options& options, std::string_view will, void* self);

/// The text for a code of libmosquitto's functions.
[[nodiscard]] std::string reason(int error);

}  // namespace millpond::gateway::mqtt
