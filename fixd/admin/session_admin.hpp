#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/replica_server.hpp>
#include <millpond/engine/session_handle.hpp>

#include "service/reloader.hpp"

/// Requests of `millpond fix sessions` to a running engine, fields separated by tabs, and their answers in JSON.
///
///     list                                 {"sessions":[{"name":"FIX.4.4:HOUSE->CLIENT","state":"active",...}]}
///     logout SESSION REASON                {"done":true}
///     logon SESSION
///     reset SESSION
///     set-seq SESSION NEXT_SENDER|- NEXT_TARGET|-
///     promote SESSION -|force              {"done":true,"promoted":[{"name":"FIX.4.4:HOUSE->CLIENT","epoch":2,...}]}
///     reload                               {"done":["session FIX.4.4:HOUSE->DESK is added"],"refused":[]}
///     anything wrong                       {"error":"..."}
namespace millpond::fixd {

using SessionList = std::vector<std::shared_ptr<engine::SessionHandle>>;

/// The engine as requests see it.
struct Administered {
    std::function<SessionList()>
        sessions;  ///< The list is not kept: a reload waits until removed sessions are released.
    std::function<std::optional<service::Reloaded>()> reload{};  ///< Empty: no result in time.
    /// Called when an operator disables or enables a session. Not set: a restart forgets it.
    std::function<void(std::string_view session, bool disabled)> disabled{};
    /// Names of disabled sessions, including template sessions that do not exist now.
    std::function<std::vector<std::string>()> disabled_names{};
    std::function<std::vector<engine::ReplicaStatus>()> replicas{};  ///< Not set: the engine is no standby.
    /// Promotes a session, by its whole name. Returns the error, or an empty string.
    std::function<std::string(std::string_view session, bool force)> promote{};
    /// Called after each change, with what was done: "reset requested". Not set: it is not logged.
    std::function<void(const std::string& session, const std::string& text)> acted{};
};

/// Answers a request. SESSION is a whole name, with or without its BeginString, or a part that only one
/// name contains.
[[nodiscard]] std::string answer_admin(std::string_view request, const Administered& administered);

}  // namespace millpond::fixd
