#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <millpond/files/pcap_reader.hpp>

#include "error_list.hpp"

namespace millpond::python {

struct CaptureLook {
    std::string format;  ///< quotes, itch, miax-tom or bbo28; empty if none of the first datagrams identifies it.
    std::optional<std::int64_t> first_utc_ns;  ///< Capture time of the first datagram.
};

/// Reads the capture's first datagrams. Throws like files::PcapReader.
[[nodiscard]] CaptureLook look_at_capture(const std::string& path, files::Timestamps timestamps);

/// Throws std::invalid_argument for a name of no source of times.
[[nodiscard]] files::Timestamps timestamps_named(const std::string& name);

/// Adds an error for each cause for which datagrams of a capture that was read are missing or lack the chosen time.
void note_missing(ErrorList& errors, const std::string& path, const files::PcapReader::Counts& counts);

}  // namespace millpond::python
