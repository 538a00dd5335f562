#pragma once

#include <string>
#include <string_view>

#include <sys/stat.h>

namespace millpond::service {

/// A file as it was read.
struct RegularFile {
    std::string text;
    mode_t mode;  ///< As stat(2) has it, of the file that was read.
};

/// Reads a file of at most 64 MiB. Symbolic links are followed. A pipe, device or folder is refused without waiting for
/// it. Throws std::runtime_error with the reason, without the path.
[[nodiscard]] RegularFile read_regular_file(const std::string& path);

/// Throws what read_regular_file throws where the file cannot be opened or is not a regular one.
void require_regular_file(const std::string& path);

/// Replaces the file by one with this text, and the same owner and permissions; creates it with `mode` if there is
/// none. On the disk when it returns: a process that dies meanwhile leaves the former file, and perhaps one at
/// PATH.new. Throws std::runtime_error with the step and the reason.
void replace_regular_file(const std::string& path, std::string_view text, mode_t mode);

}  // namespace millpond::service
