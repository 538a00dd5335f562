#pragma once

#include <atomic>
#include <system_error>

namespace millpond::files::detail {

/// Compresses `from` into `to`, and waits until it is on the disk. stop: checked after each 128 KiB.
///
/// Errors: operation_canceled after `stop`, not_supported if the library was built without libzstd,
/// not_enough_memory, or an error of the system.
[[nodiscard]] std::error_code pack_zstd(int from, int to, const std::atomic<bool>& stop);

}  // namespace millpond::files::detail
