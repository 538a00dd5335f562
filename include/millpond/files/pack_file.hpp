#pragma once

#include <atomic>
#include <string>
#include <system_error>

#include <sys/types.h>

namespace millpond::files {

/// Whether this build has libzstd.
[[nodiscard]] bool can_pack() noexcept;

/// Compresses a file to PATH.zst, which FileContents reads, and removes it. At any time there is either the plain file
/// or the complete compressed one, even if the process is killed. The next call removes PATH.zst.part of a killed
/// process. mode: permissions of the new file, whatever the umask. stop: checked after each 128 KiB.
///
/// After an error only the plain file is left. Errors: operation_canceled after `stop`, not_supported without libzstd,
/// and those of the system.
[[nodiscard]] std::error_code pack_file(const std::string& path, mode_t mode, const std::atomic<bool>& stop);

}  // namespace millpond::files
