#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <sys/types.h>

#include "gateway/sinks/consumer.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::kafka {

/// Whether this build has librdkafka.
[[nodiscard]] bool is_built() noexcept;

/// Checks the properties. Throws std::invalid_argument that names a property which librdkafka refuses, or which the
/// sink must set itself. password: for SASL.
void check(const Settings& settings, const std::string& password = {});

/// Checks the properties like check(), and reads the files that they name, by creating a producer that is not used.
void check_files(const Settings& settings, const std::string& password);

/// Opens the sink of kafka_sink.hpp. Throws what check_files() and opening the journal and the position file throw.
[[nodiscard]] std::unique_ptr<Consumer> open(const Settings& settings, const JournalSource& journal,
                                             const std::string& password, mode_t file_mode, service::LogFunction log);

}  // namespace millpond::gateway::kafka
