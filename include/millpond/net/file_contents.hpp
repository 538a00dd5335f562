#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <millpond/net/detail/byte_stream.hpp>

namespace millpond::net {

/// A file's contents from first to last, piece by piece; of a .gz or .zst file, decompressed. Works on pipes too.
///
/// Threads: one. Memory: two MiB, and what decompressing takes.
class FileContents {
public:
    /// Throws std::system_error that names the path.
    explicit FileContents(const std::string& path) : path_(path), stream_(path) {}

    /// The next bytes, valid until the next call; none at the end. Throws std::system_error for a read that failed and
    /// FileFormatError for damaged compressed data, behind the bytes before it.
    [[nodiscard]] std::span<const std::byte> next();

private:
    std::string path_;
    detail::ByteStream stream_;
    std::size_t shown_{0};
};

}  // namespace millpond::net
