#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/core/moment.hpp>

#include "src/engine/io/io_loop.hpp"

namespace millpond::engine {

/// The current action of a session on its I/O loop: a call of the loop, during which output is collected.
///
/// Threads: the I/O thread's.
class SessionAction {
public:
    explicit SessionAction(IoLoop& loop) noexcept : loop_(&loop) {}
    void set_slot(std::size_t slot) noexcept { slot_ = slot; }

    void begin(core::Moment now) noexcept {
        stamp_ = now;
        began_ns_ = now.monotonic_ns;
        is_running_ = true;
    }
    void end() noexcept { is_running_ = false; }
    [[nodiscard]] bool is_running() const noexcept { return is_running_; }
    /// Monotonic time at which the action began.
    [[nodiscard]] std::int64_t began_ns() const noexcept { return began_ns_; }

    /// The latest known time: the start of the action, or the last write in it.
    [[nodiscard]] const core::Moment& stamp() const noexcept { return stamp_; }
    void set_stamp(core::Moment now) noexcept { stamp_ = now; }
    void update_stamp() noexcept { stamp_ = loop_->now(); }

    [[nodiscard]] IoLoop& loop() const noexcept { return *loop_; }
    /// Requests a call of the session's on_signal.
    void signal() noexcept { loop_->signal(slot_); }
    /// Sets the monotonic time at which the loop calls the session's on_timer.
    void set_timer(std::int64_t monotonic_ns) noexcept { loop_->wants_timer(slot_, monotonic_ns); }
    /// Requests another round unless an action is running, which does the work at its end.
    void finish_soon() noexcept {
        if (!is_running_) set_timer(0);
    }

private:
    IoLoop* loop_;
    std::size_t slot_{0};
    core::Moment stamp_;
    std::int64_t began_ns_{0};
    bool is_running_{false};
};

}  // namespace millpond::engine
