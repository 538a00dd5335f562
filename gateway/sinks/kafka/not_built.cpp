#include <memory>
#include <stdexcept>

#include "gateway/sinks/kafka/kafka.hpp"

namespace millpond::gateway::kafka {

bool is_built() noexcept { return false; }

void check(const Options&) {}

void check_files(const Options&) {}

void check_position_file(const std::filesystem::path&, mode_t) {}

std::unique_ptr<Consumer> open(const Options& options, service::Say) {
    throw std::runtime_error("kafka sink '" + options.name + "': this build has no librdkafka");
}

}  // namespace millpond::gateway::kafka
