#pragma once

#include <utility>

#include "session_host.hpp"

namespace millpond::engine {

/// What is done between two looks at the connection: its output is written at the end.
class SessionHost::Action {
public:
    Action(SessionHost& host, core::Moment now) noexcept
        : host_(&host), now_(now), outermost_(!std::exchange(host.acting_, true)) {
        host.stamp_ = now;
    }
    ~Action() {
        if (outermost_) host_->finish_action(now_);
    }
    Action(const Action&) = delete;
    Action& operator=(const Action&) = delete;

private:
    SessionHost* host_;
    core::Moment now_;
    bool outermost_;
};

}  // namespace millpond::engine
