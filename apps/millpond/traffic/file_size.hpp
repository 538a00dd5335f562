#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

namespace millpond::traffic {

/// Bytes of a regular file; 0 for what has no size, a pipe for example.
inline std::uint64_t file_size(const std::string& path) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    return error ? 0 : bytes;
}

}  // namespace millpond::traffic
