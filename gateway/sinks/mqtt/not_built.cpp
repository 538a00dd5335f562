#include <memory>
#include <stdexcept>

#include "gateway/sinks/mqtt/mqtt.hpp"

namespace millpond::gateway::mqtt {

bool is_built() noexcept { return false; }

std::unique_ptr<Sink> open(const Options& options, service::Say) {
    throw std::runtime_error("mqtt sink '" + options.name + "': this build has no libmosquitto");
}

}  // namespace millpond::gateway::mqtt
