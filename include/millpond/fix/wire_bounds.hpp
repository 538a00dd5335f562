#pragma once

#include <cstdint>

namespace millpond::fix {

/// Largest MsgSeqNum, NewSeqNo, BeginSeqNo and EndSeqNo that a session takes: 2^53 - 1, so that a number is exact in a
/// double too, and the next one does not wrap.
inline constexpr std::uint64_t kMaxSequence = 9'007'199'254'740'991;

/// Largest HeartBtInt that a session takes or asks for, in seconds: in nanoseconds, several of them still fit into 64
/// bits.
inline constexpr std::int64_t kMaxHeartbeatSeconds = 2'147'483'647;

}  // namespace millpond::fix
