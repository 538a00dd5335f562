#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace millpond::files {

enum class FileKind : std::uint8_t {
    capture,  ///< Datagrams: pcap or pcapng.
    itch,     ///< ITCH messages in NASDAQ's BinaryFILE framing.
    journal,  ///< A segment of a journal, or a folder of segments.
};

/// Detects the kind of a file by its first bytes, or of a .gz or .zst file by those of its contents. A folder is a
/// journal. Returns nullopt for any other file. Throws like file_begin.
[[nodiscard]] std::optional<FileKind> detect_file_kind(const std::string& path);

/// Detects the kind of a file. Throws FileFormatError if it is none of them.
[[nodiscard]] FileKind file_kind(const std::string& path);

}  // namespace millpond::files
