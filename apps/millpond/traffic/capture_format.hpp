#pragma once

#include <string>
#include <string_view>

#include "apps/millpond/traffic/line_report.hpp"

namespace millpond::app {

/// Returns the feed format of a capture, detected from its first datagrams, or `wanted` if any of them has that format.
/// wanted: a format's name, or empty. Throws UsageError that describes the datagrams if there is none, and exceptions
/// derived from std::exception if the file cannot be read.
[[nodiscard]] std::string format_of_capture(const std::string& path, const std::string& wanted);

/// Returns the format of the capture's first datagrams; empty if there is none that is known. Throws like
/// files::PcapReader.
[[nodiscard]] std::string detected_format(const std::string& path);

/// Reads the numbers of datagrams of this format; of another name, of none.
[[nodiscard]] traffic::LineReport::ReadNumbers numbers_of(std::string_view format);

}  // namespace millpond::app
