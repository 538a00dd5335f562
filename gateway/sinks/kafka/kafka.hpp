#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/created_file.hpp>
#include <millpond/core/tally.hpp>

#include "gateway/sinks/consumer.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::kafka {

enum class Format : std::uint8_t { json, binary };

struct Options {
    std::string name{"kafka"};
    std::string ring{};
    std::filesystem::path journal{};              ///< Folder of the journal that it follows.
    const core::Tally* newest_record{nullptr};    ///< Number of the journal's newest record, by its writer.
    std::filesystem::path position_file{};        ///< Where the last delivered position is kept.
    std::string brokers{};                        ///< HOST:PORT,HOST:PORT
    std::string topic{"bbo"};                     ///< Of events of an instrument.
    std::string events_topic{"millpond.events"};  ///< Of gaps, clears, states of channels and lost records.
    Format format{Format::json};
    std::string compression{"lz4"};
    std::size_t window{32'768};          ///< Messages on their way at a time.
    std::optional<std::size_t> batch{};  ///< Most messages of a batch; librdkafka's if unset.
    std::string password{};              ///< For SASL.
    std::vector<std::pair<std::string, std::string>> properties{};  ///< librdkafka's, as they are.
    std::optional<std::uint32_t> pin{};
    mode_t file_mode{core::kFileMode};  ///< Of the position file.
};

/// Whether this build has librdkafka.
[[nodiscard]] bool is_built() noexcept;

/// Throws std::invalid_argument that names a property which librdkafka does not know or refuses, or on which what the
/// sink promises depends.
void check(const Options& options);

/// The same, and the files that properties name are read. Makes a producer that is never used.
void check_files(const Options& options);

/// Throws std::system_error when the position file cannot be made, or another process has it.
void check_position_file(const std::filesystem::path& path, mode_t file_mode);

/// The sink of kafka_sink.hpp. Throws as check, also for files named by properties that are missing or bad, and what
/// opening the journal and the position file throws.
[[nodiscard]] std::unique_ptr<Consumer> open(const Options& options, service::Say say);

}  // namespace millpond::gateway::kafka
