#pragma once

#include <utility>

#include "session_host.hpp"

namespace millpond::engine {

/// Marks the duration of an action, during which output is collected. If the action ends with an exception, the
/// connection ends in the next round.
class SessionHost::Acting {
public:
    explicit Acting(SessionHost& host) noexcept : host_(&host) { host.acting_ = true; }
    ~Acting() {
        if (host_ != nullptr) host_->abandon_action();
    }
    Acting(const Acting&) = delete;
    Acting& operator=(const Acting&) = delete;

    void complete() noexcept { std::exchange(host_, nullptr)->acting_ = false; }

private:
    SessionHost* host_;
};

/// Runs `work` as one action, whose output is written at its end. Within another action it is part of that. Throws what
/// the application's callbacks throw.
template <class Work>
void SessionHost::act(core::Moment now, Work&& work) {
    stamp_ = now;
    if (acting_) {
        work();
        return;
    }
    began_ns_ = now.monotonic_ns;
    Acting acting{*this};
    work();
    finish_action(now);
    acting.complete();
    tell_closed();
}

}  // namespace millpond::engine
