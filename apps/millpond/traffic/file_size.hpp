#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

namespace millpond::traffic {

/// Size of a regular file in bytes; 0 for a pipe and others without a size.
inline std::uint64_t file_size(const std::string& path) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    return error ? 0 : bytes;
}

}  // namespace millpond::traffic
