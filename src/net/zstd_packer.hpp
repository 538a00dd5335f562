#pragma once

#include <atomic>
#include <system_error>

namespace millpond::net::detail {

/// Compresses what can be read from `from` into `to`, and waits until the disk has it. stop: looked at after each
/// 128 KiB.
///
/// Errors: operation_canceled after `stop`, not_supported when the library was built without libzstd,
/// not_enough_memory, or what the system says.
[[nodiscard]] std::error_code pack_zstd(int from, int to, const std::atomic<bool>& stop);

}  // namespace millpond::net::detail
