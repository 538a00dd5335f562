#pragma once

#include <cstdint>
#include <string>

namespace millpond::traffic {

enum class FileKind : std::uint8_t { pcap, itch, journal };

/// What a file that can be replayed is, by its first bytes; a folder is a journal. Throws std::system_error when it
/// cannot be read and net::FileFormatError when it is none of them. Of a .gz or .zst file, its contents count.
[[nodiscard]] FileKind file_kind(const std::string& path);

}  // namespace millpond::traffic
