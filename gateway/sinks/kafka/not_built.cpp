#include <memory>
#include <stdexcept>

#include "gateway/sinks/kafka/kafka.hpp"

namespace millpond::gateway::kafka {

bool is_built() noexcept { return false; }

void check(const Settings&, const std::string&) {}

void check_files(const Settings&, const std::string&) {}

std::unique_ptr<Consumer> open(const Settings& settings, const JournalSource&, const std::string&, mode_t,
                               service::LogFunction) {
    throw std::runtime_error("kafka sink '" + settings.name + "': this build has no librdkafka");
}

}  // namespace millpond::gateway::kafka
