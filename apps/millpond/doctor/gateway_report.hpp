#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/millpond/doctor/finding.hpp"

namespace millpond::app::doctor {

/// The findings of a running gateway for a feed, its ring and the sinks that read it.
struct GatewayReport {
    std::int64_t now_utc_ns{0};     ///< Time of the report.
    std::uint64_t datagrams{0};     ///< Datagrams received from the feed.
    std::vector<Finding> findings;  ///< Errors first.
};

/// Parses the response of /api/health; empty if that gateway has no such feed. Throws std::runtime_error if the text is
/// not such a response.
[[nodiscard]] std::optional<GatewayReport> parse_report(const std::string& health_json, const std::string& feed);

/// Requests /api/health from a gateway. Throws std::runtime_error with the reason if that fails.
using FetchHealth = std::function<std::string()>;

/// Queries a gateway about one feed.
class GatewayClient {
public:
    /// fetch: if empty, query returns nullopt.
    GatewayClient(const FetchHealth& fetch, std::string feed) : fetch_(fetch), feed_(std::move(feed)) {}

    /// Returns a report of that time or later; waits for it for up to two seconds, since the gateway checks its health
    /// ten times a second. If there is no answer, returns nullopt and sets error_text to the reason.
    [[nodiscard]] std::optional<GatewayReport> query(std::int64_t since_utc_ns, std::string& error_text) const;

private:
    const FetchHealth& fetch_;
    std::string feed_;
};

}  // namespace millpond::app::doctor
