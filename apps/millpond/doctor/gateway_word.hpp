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
struct GatewayWord {
    std::int64_t now_utc_ns{0};     ///< When it looked.
    std::uint64_t datagrams{0};     ///< Received of the feed.
    std::vector<Finding> findings;  ///< Errors first.
};

/// Parses the response of /api/health; empty if that gateway has no such feed. Throws std::runtime_error if the text is
/// not such a response.
[[nodiscard]] std::optional<GatewayWord> word_of(const std::string& health_json, const std::string& feed);

/// Requests /api/health from a gateway. Throws std::runtime_error with the reason if that fails.
using AskHealth = std::function<std::string()>;

/// Asks a gateway about one feed.
class GatewayEar {
public:
    /// ask: may be empty; then `ask` returns nothing.
    GatewayEar(const AskHealth& ask, std::string feed) : ask_(ask), feed_(std::move(feed)) {}

    /// Its findings of that time or later; waits for them for up to two seconds, since it looks ten times a second.
    /// silence: set to the reason if there is no answer.
    [[nodiscard]] std::optional<GatewayWord> ask(std::int64_t since_utc_ns, std::string& silence) const;

private:
    const AskHealth& ask_;
    std::string feed_;
};

}  // namespace millpond::app::doctor
