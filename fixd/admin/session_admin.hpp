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

/// What `millpond fix sessions` asks a running engine, and what that answers: fields with tabs between them, JSON.
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

/// What requests are about.
struct Administered {
    std::function<SessionList()> sessions;  ///< Not kept across a reload, which waits for those it removes.
    std::function<std::optional<service::Reloaded>()> reload{};  ///< Empty: no result in time.
    /// A session is logged out for good, or may log on again. Not set: a restart forgets it.
    std::function<void(std::string_view session, bool disabled)> disabled{};
    /// Names of sessions that were logged out for good, also of those by template that are not there now.
    std::function<std::vector<std::string>()> disabled_names{};
    std::function<std::vector<engine::ReplicaStatus>()> replicas{};  ///< Of a standby; not set: it is none.
    /// Gives the error, or empty. SESSION is a whole name then.
    std::function<std::string(std::string_view session, bool force)> promote{};
};

/// SESSION is a whole name, or a part that only one name has.
[[nodiscard]] std::string answer_admin(std::string_view request, const Administered& administered);

}  // namespace millpond::fixd
