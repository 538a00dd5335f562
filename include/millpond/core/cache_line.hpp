#pragma once

#include <cstddef>

namespace millpond::core {

/// Bytes of one hardware cache line, on every machine we build for.
inline constexpr std::size_t kCacheLine = 64;

/// Bytes between two fields that different cores write: x86 prefetches lines in pairs, so one line is not enough.
inline constexpr std::size_t kFalseSharingRange = 128;

}  // namespace millpond::core
