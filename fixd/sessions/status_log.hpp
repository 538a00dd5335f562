#pragma once

#include <cstdint>
#include <string_view>

#include <millpond/engine/session_status.hpp>

#include "service/log.hpp"

namespace millpond::fixd {

/// Logs the troubles of one session that only its counters show: each time that one of them has grown.
///
/// Threads: one.
class StatusLog {
public:
    void update(const engine::SessionStatus& status, service::Log& log);

private:
    // The counts that were logged last.
    std::uint64_t store_damaged_{0};
    std::uint64_t store_failures_{0};
    std::uint64_t beyond_{0};
    std::uint64_t garbled_{0};
    std::uint64_t standby_losses_{0};
};

}  // namespace millpond::fixd
