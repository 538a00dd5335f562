#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/kind.hpp"
#include "service/token.hpp"

namespace millpond::gateway::kafka {

/// A journal's records to Kafka: `[[kafka]]`. Its ring is the journal's.
struct Settings : SinkBasics {
    std::string journal;  ///< Name of the [[journal]] that it follows; the first one when empty.
    std::vector<std::string> brokers{"127.0.0.1:9092"};
    std::string topic{Options{}.topic};
    std::string events_topic{Options{}.events_topic};
    Format format{Options{}.format};
    std::string compression{Options{}.compression};
    std::uint64_t window{Options{}.window};  ///< Messages on their way at a time.
    std::string position_file;               ///< NAME.position in the journal's folder when empty.
    service::TokenSource password;           ///< For SASL.
    std::vector<std::string> properties;     ///< librdkafka's, each KEY=VALUE.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

/// As the sink takes them, without the journal and the password.
[[nodiscard]] Options options_of(const Settings& settings);

}  // namespace millpond::gateway::kafka
