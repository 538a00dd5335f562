#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace millpond::net {

/// The first bytes of a file's contents, by which its format is known; of a .gz or .zst file, decompressed. Fewer than
/// `count` when the contents end before.
///
/// Throws std::system_error for a file that cannot be read and FileFormatError for damaged compressed data.
[[nodiscard]] std::vector<std::byte> file_begin(const std::string& path, std::size_t count);

}  // namespace millpond::net
