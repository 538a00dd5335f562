#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/session_handle.hpp>

/// What `millpond fix sessions` asks a running engine, and what that answers: fields with tabs between them, JSON.
///
///     list                                 {"sessions":[{"name":"FIX.4.4:HOUSE->CLIENT","state":"active",...}]}
///     logout SESSION REASON                {"done":true}
///     logon SESSION
///     reset SESSION
///     set-seq SESSION NEXT_SENDER|- NEXT_TARGET|-
///     anything wrong                       {"error":"..."}
namespace millpond::fixd {

using SessionList = std::vector<std::shared_ptr<engine::SessionHandle>>;

/// SESSION is a whole name, or a part that only one name has.
[[nodiscard]] std::string answer_admin(std::string_view request, const SessionList& sessions);

/// What is wrong with a reason for a Logout, for people; empty where nothing is.
[[nodiscard]] std::string fault_of_reason(std::string_view reason);

/// Text as a JSON string, quotes included.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace millpond::fixd
