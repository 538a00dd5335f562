#pragma once

#include <string>

#include <millpond/files/pcap_reader.hpp>

#include "apps/millpond/command_line/arguments.hpp"

namespace millpond::app {

/// Adds the option --timestamps, whose value timestamps_named takes.
void add_timestamps(Arguments& command, std::string& target);

[[nodiscard]] files::Timestamps timestamps_named(const std::string& name);

/// Describes what a reader has read: "20560 frames, 20558 datagrams, not IP 2; times: nexus3550". Counts of zero are
/// left out.
[[nodiscard]] std::string capture_text(const files::PcapReader& reader);

}  // namespace millpond::app
