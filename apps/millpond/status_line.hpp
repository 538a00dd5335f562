#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gateway/gateway.hpp"

namespace millpond::app {

/// What a gateway did since the last line, in one line: rates, latencies of the interval, losses since the start.
///
/// Threads: one.
class StatusLine {
public:
    StatusLine();

    /// interval_ns: the time since the last call.
    [[nodiscard]] std::string next(const gateway::Gateway& gateway, std::int64_t interval_ns);

private:
    std::unique_ptr<gateway::Totals> before_;
    std::unique_ptr<gateway::Totals> now_;
};

}  // namespace millpond::app
