#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace millpond::app {

/// Sort order of feeds and sinks.
enum class TopOrder : std::uint8_t { configured, name, rate, lag, missed };

struct TopView {
    std::size_t width{0};   ///< Characters; 0: no limit.
    std::size_t height{0};  ///< Lines; 0: no limit.
    bool colour{false};
    TopOrder order{TopOrder::configured};
};

/// A gateway's /api/health and /api/clients as text for a terminal: findings, feeds, sinks, clients, rings, latencies,
/// readers and pools. clients_json: empty: no clients.
/// Findings come first and are kept if the height is too small for everything. Throws std::runtime_error when the
/// JSON is not a gateway's.
[[nodiscard]] std::string top_text(const std::string& health_json, const std::string& clients_json,
                                   const TopView& view = {});

}  // namespace millpond::app
