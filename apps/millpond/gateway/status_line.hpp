#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gateway/gateway.hpp"

namespace millpond::app {

/// A gateway's activity since the last line: rates and latencies of the interval, and losses since startup.
///
/// Threads: one.
class StatusLine {
public:
    StatusLine();

    /// Returns the line, at most `columns` wide, including the sum of the events that the sinks missed. Parts that do
    /// not fit are omitted, latencies before losses. interval_ns: the time since the last call.
    [[nodiscard]] std::string next(const gateway::Gateway& gateway, std::int64_t interval_ns, std::size_t columns);

private:
    struct Numbers {
        std::vector<std::string> counts;
        std::string latency;
    };
    Numbers sample(const gateway::Gateway& gateway, std::int64_t interval_ns);

    std::unique_ptr<gateway::Totals> before_;
    std::unique_ptr<gateway::Totals> now_;
};

}  // namespace millpond::app
