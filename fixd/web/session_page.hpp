#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "fixd/health/health.hpp"
#include "fixd/sessions/session_set.hpp"
#include "service/http/page.hpp"

namespace millpond::fixd {

inline constexpr std::size_t kMaxShownMessages = 1'000;

/// GET /api/session: state, schedule, heartbeat, store, gaps, and rejects of both sides.
[[nodiscard]] http::Page session_page(const SessionReport& session, const SessionDetails& details);

/// GET /api/messages: the last messages, decoded, with secrets hidden, newest first. They are from the raw log; without
/// one, those that were sent, from the store. raw_log: empty if there is none.
[[nodiscard]] http::Page messages_page(std::string_view session, const SessionDetails& details,
                                       const std::filesystem::path& raw_log, std::size_t limit);

}  // namespace millpond::fixd
