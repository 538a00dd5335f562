#pragma once

#include <cstdint>

namespace millpond::fix {

/// Largest MsgSeqNum, NewSeqNo, BeginSeqNo and EndSeqNo that a session accepts: 2^53 - 1, so that a number is exact in
/// a double too, and the next one does not wrap.
inline constexpr std::uint64_t kMaxSequence = 9'007'199'254'740'991;

/// Largest HeartBtInt that a session accepts or requests, in seconds; several of them fit into 64 bits as nanoseconds.
inline constexpr std::int64_t kMaxHeartbeatSeconds = 2'147'483'647;

/// Largest HeartBtInt with which an acceptor may answer instead of the requested one.
inline constexpr std::int64_t kMaxAnsweredSeconds = 3'600;

}  // namespace millpond::fix
