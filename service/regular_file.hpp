#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <sys/stat.h>

namespace millpond::service {

/// Contents and mode of a file.
struct RegularFile {
    std::string text;
    mode_t mode;  ///< st_mode of the file that was read.
};

/// Largest file that read_regular_file reads by default.
inline constexpr std::size_t kMaxRegularFileBytes = std::size_t{64} << 20U;

/// Reads a file of at most `max_bytes`. Symbolic links are followed. A pipe, device or folder is refused without
/// waiting for it. Throws std::runtime_error with the reason, without the path.
[[nodiscard]] RegularFile read_regular_file(const std::string& path, std::size_t max_bytes = kMaxRegularFileBytes);

/// Replaces the file by one with this text and the same owner and permissions; creates it with `mode` if it does not
/// exist. The text is on the disk when the function returns: a process that dies meanwhile leaves the old file, and
/// possibly a temporary one, see core::WholeFile. Throws std::runtime_error with the step and the reason.
void replace_regular_file(const std::string& path, std::string_view text, mode_t mode);

}  // namespace millpond::service
