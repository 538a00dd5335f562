#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <millpond/files/detail/byte_stream.hpp>

namespace millpond::files {

/// Reads the contents of a file or pipe piece by piece; of a .gz or .zst file, decompressed.
///
/// Threads: one. Memory: two MiB, and the decompressor's memory.
class FileContents {
public:
    /// Throws std::system_error that names the path.
    explicit FileContents(const std::string& path) : path_(path), stream_(path) {}

    /// Returns the next bytes, valid until the next call; empty at the end. Throws std::system_error for a failed read,
    /// and FileFormatError for damaged compressed data, after all bytes before the damage were returned.
    [[nodiscard]] std::span<const std::byte> next();

private:
    std::string path_;
    detail::ByteStream stream_;
    std::size_t shown_{0};
};

}  // namespace millpond::files
