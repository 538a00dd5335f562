#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gateway/sinks/kind.hpp"
#include "service/token.hpp"

namespace millpond::gateway::kafka {

enum class Format : std::uint8_t { json, binary };

/// Settings of `[[kafka]]`: a journal's records to Kafka. The sink's ring is the journal's.
struct Settings : SinkBasics {
    std::string journal;  ///< Name of the [[journal]] that it follows; empty: the first one.
    std::vector<std::string> brokers{"127.0.0.1:9092"};  ///< Bootstrap brokers, each HOST:PORT.
    std::string topic{"bbo"};                            ///< Topic for events of an instrument.
    std::string events_topic{"millpond.events"};  ///< Topic for gaps, clears, states of channels and lost records.
    std::string levels_topic;  ///< Topic for levels, a template like `topic`; empty: they are filtered.
    std::string orders_topic;  ///< Topic for orders, likewise.
    Format format{Format::json};
    std::string compression{"lz4"};
    service::TokenSource password;        ///< Password for SASL.
    std::vector<std::string> properties;  ///< Properties of librdkafka, each KEY=VALUE.
    std::uint64_t window{32'768};         ///< Maximum number of messages in flight; without a key.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

/// Splits a property at its first '='.
[[nodiscard]] std::pair<std::string, std::string> key_and_value(const std::string& property);

}  // namespace millpond::gateway::kafka
