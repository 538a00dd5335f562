#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gateway/sinks/mqtt/settings.hpp"

struct mosquitto;

namespace millpond::gateway::mqtt {

struct DestroyClient {
    void operator()(mosquitto* client) const noexcept;
};
using Client = std::unique_ptr<mosquitto, DestroyClient>;

/// Creates an unconnected libmosquitto client with these settings and this will. self: passed to its callbacks. Throws
/// std::runtime_error with libmosquitto's message for settings that it refuses.
[[nodiscard]] Client make_client(const Settings& settings, const std::string& password, std::string_view will,
                                 void* self);

/// Text for an error code of libmosquitto.
[[nodiscard]] std::string reason(int error);

}  // namespace millpond::gateway::mqtt
