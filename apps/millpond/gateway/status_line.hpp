#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gateway/gateway.hpp"

namespace millpond::app {

/// What a gateway did since the last line, in one line: rates, latencies of the interval, losses since the start.
///
/// Threads: one.
class StatusLine {
public:
    StatusLine();

    /// For a file or a pipe, with the account of every sink. interval_ns: the time since the last call.
    [[nodiscard]] std::string next(const gateway::Gateway& gateway, std::int64_t interval_ns);

    /// For a terminal: at most so many columns. What the sinks missed is one sum. Parts that do not fit are left out;
    /// losses are placed before latencies.
    [[nodiscard]] std::string next(const gateway::Gateway& gateway, std::int64_t interval_ns, std::size_t columns);

private:
    struct Numbers {
        std::vector<std::string> counts;
        std::string latency;
    };
    Numbers take(const gateway::Gateway& gateway, std::int64_t interval_ns);

    std::unique_ptr<gateway::Totals> before_;
    std::unique_ptr<gateway::Totals> now_;
};

}  // namespace millpond::app
