#pragma once

#include <millpond/journal/journal_writer.hpp>

#include "gateway/sinks/kind.hpp"

namespace millpond::gateway::journal {

/// Settings of `[[journal]]`: all events in segment files.
struct Settings : SinkBasics {
    millpond::journal::WriterOptions writer;  ///< The sink sets its ring and file_mode.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::journal
