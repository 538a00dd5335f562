#pragma once

#include <cstdint>
#include <utility>

#include "session_host.hpp"

namespace millpond::engine {

/// What is done between two looks at the connection: its output is written at the end.
class SessionHost::Action {
public:
    Action(SessionHost& host, std::int64_t utc_ns) noexcept
        : host_(&host), utc_ns_(utc_ns), outermost_(!std::exchange(host.acting_, true)) {
        host.stamp_ns_ = utc_ns;
    }
    ~Action() {
        if (outermost_) host_->finish_action(utc_ns_);
    }
    Action(const Action&) = delete;
    Action& operator=(const Action&) = delete;

private:
    SessionHost* host_;
    std::int64_t utc_ns_;
    bool outermost_;
};

}  // namespace millpond::engine
