#pragma once

#include <cstdint>
#include <string>

namespace millpond::traffic {

enum class FileKind : std::uint8_t { pcap, itch, journal };

/// Detects the kind of a file to replay by its first bytes, those of the contents for .gz and .zst; a folder is a
/// journal. Throws std::system_error if it cannot be read and net::FileFormatError if it is of no known kind.
[[nodiscard]] FileKind file_kind(const std::string& path);

}  // namespace millpond::traffic
