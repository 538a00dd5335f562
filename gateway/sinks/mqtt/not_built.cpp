#include <memory>
#include <stdexcept>

#include "gateway/sinks/mqtt/mqtt.hpp"

namespace millpond::gateway::mqtt {

bool is_built() noexcept { return false; }

std::unique_ptr<Sink> open(const Settings& settings, const std::string&, service::LogFunction) {
    throw std::runtime_error("mqtt sink '" + settings.name + "': this build has no libmosquitto");
}

}  // namespace millpond::gateway::mqtt
