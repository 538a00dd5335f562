#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace millpond::files {

/// Reads the first bytes of a file, which identify its format; of a .gz or .zst file, decompressed. Returns fewer than
/// `count` bytes if the contents are shorter.
///
/// Throws std::system_error for a file that cannot be read and FileFormatError for damaged compressed data.
[[nodiscard]] std::vector<std::byte> file_begin(const std::string& path, std::size_t count);

}  // namespace millpond::files
