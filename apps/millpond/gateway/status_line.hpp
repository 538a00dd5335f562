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

    /// For a file or a pipe: includes the account of every sink. interval_ns: the time since the last call.
    [[nodiscard]] std::string next(const gateway::Gateway& gateway, std::int64_t interval_ns);

    /// For a terminal: at most `columns` wide, with the sum of what the sinks missed. Parts that do not fit are left
    /// out; losses come before latencies.
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
