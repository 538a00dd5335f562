#pragma once

#include <cstdint>
#include <string>

#include "service/event_log.hpp"
#include "service/history.hpp"
#include "service/http/page.hpp"

namespace millpond::http {

/// GET /api/history, /api/events and /api/events.csv, as web/openapi.yaml describes them. Bodies are made in parts.
///
/// Threads: any.
class HistoryPage {
public:
    HistoryPage(const service::History& history, const service::EventLog& events) noexcept
        : history_(history), events_(events) {}

    /// now_ns: UTC. Returns an empty page for another path. Throws BadRequest.
    [[nodiscard]] Page page(const Request& request, std::int64_t now_ns) const;

private:
    [[nodiscard]] Page history_json(const Request& request, std::int64_t now_ns) const;
    [[nodiscard]] Page events_json(const Request& request, std::int64_t now_ns) const;
    [[nodiscard]] Page events_csv(const Request& request) const;

    const service::History& history_;
    const service::EventLog& events_;
};

}  // namespace millpond::http
