#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <millpond/fix/message.hpp>
#include <millpond/fix/wire_bounds.hpp>

namespace millpond::fix {

inline constexpr std::string_view kBadSequence = "MsgSeqNum is not a number from 0 to 9007199254740991";
static_assert(kMaxSequence == 9'007'199'254'740'991);

/// MsgSeqNum; nullopt if it is missing or too large for a session.
[[nodiscard]] inline std::optional<std::uint64_t> sequence_of(const Message& message) noexcept {
    const auto sequence = message.unsigned_integer(tag::kMsgSeqNum);
    return sequence && *sequence <= kMaxSequence ? sequence : std::nullopt;
}

}  // namespace millpond::fix
