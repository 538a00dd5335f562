#pragma once

#include <millpond/fix/message.hpp>
#include <millpond/fix/session_config.hpp>
#include <millpond/fix/tag.hpp>

namespace millpond::fix {

/// First SubID or LocationID of a peer's message that differs from the session's; kInvalid if there is none. Ids that
/// the session does not have are not compared.
[[nodiscard]] Tag wrong_sub_id(const Message& message, const SessionConfig& config) noexcept;

/// Number of SubIDs and LocationIDs of the session. The session with the most of them is chosen from all that match a
/// Logon.
[[nodiscard]] unsigned sub_ids(const SessionConfig& config) noexcept;

}  // namespace millpond::fix
