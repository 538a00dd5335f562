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

/// What a daemon answers, as JSON.
struct TopAnswers {
    std::string health{};   ///< /api/health
    std::string clients{};  ///< /api/clients; empty: none.
    std::string history{};  ///< /api/history of the last minute; empty: none.
};

/// The answers as text for a terminal. Of a gateway: findings, feeds, sinks, clients, rings, latencies, readers and
/// pools; of a FIX engine: findings, sessions, and sessions that it is the standby of. Findings come first and are kept
/// if the height is too small for everything. Throws std::runtime_error when the JSON is of neither.
[[nodiscard]] std::string top_text(const TopAnswers& answers, const TopView& view = {});

}  // namespace millpond::app
