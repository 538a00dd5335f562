#pragma once

#include <atomic>
#include <string>
#include <system_error>

#include <sys/types.h>

namespace millpond::net {

/// Whether this build has libzstd.
[[nodiscard]] bool can_pack() noexcept;

/// Compresses the file to PATH.zst, which FileContents reads, and removes it. At each moment there is the plain file or
/// the whole compressed one, also for a process that is killed; what it left, PATH.zst.part, the next call removes.
/// mode: permissions of the new file, exactly these whatever the umask is. stop: looked at after each 128 KiB.
///
/// An error leaves the plain file and nothing else: operation_canceled after `stop`, not_supported without libzstd, or
/// what the system says.
[[nodiscard]] std::error_code pack_file(const std::string& path, mode_t mode, const std::atomic<bool>& stop);

}  // namespace millpond::net
