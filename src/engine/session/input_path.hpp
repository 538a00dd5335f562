#pragma once

#include <cstdint>
#include <string>

#include <millpond/core/moment.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/engine/wire_tap.hpp>
#include <millpond/fix/session.hpp>

#include "src/engine/io/input_buffer.hpp"
#include "src/engine/session/host_connection.hpp"
#include "src/engine/session/rate_limit.hpp"
#include "src/engine/session/session_gauges.hpp"

namespace millpond::engine {

/// Input from the peer: reads it into a buffer, shows it to the tap and passes it to the session, no faster than its
/// rate.
///
/// Threads: the I/O thread's.
/// Memory:  the buffer, allocated in the constructor.
class InputPath {
public:
    /// All arguments must outlive it.
    InputPath(HostConnection& connection, fix::Session& session, const std::string& name, const SessionLimits& limits,
              SessionGauges& gauges);

    /// Begins a connection. read: bytes already received on it.
    void begin(const InputBuffer& read, core::Moment now);
    void clear() noexcept { buffer_.clear(); }
    /// Reads up to a few full buffers. Returns true if there may be more, which the socket does not report.
    [[nodiscard]] bool read(core::Moment now);
    /// Passes the buffered bytes to the session.
    void hand_over(core::Moment now);

    /// Whether reading is paused, because of the peer's rate or the standby.
    [[nodiscard]] bool is_paused() const noexcept { return paused_ || stopped_; }
    /// Stops or resumes reading, because of output held back for the standby. Returns true if reading resumes.
    bool set_stopped(bool stopped);
    /// Ends a pause whose time is over.
    void end_pause(core::Moment now);
    /// End of the pause; kNever if there is none.
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept { return paused_ ? rate_.free_at_ns() : core::kNever; }
    void note_rejected(const fix::RejectedMessage& rejected) noexcept {
        if (tap_ != nullptr) tap_->on_rejected(*name_, rejected);
    }
    /// tap: may be null.
    void set_tap(WireTap* tap) noexcept { tap_ = tap; }

private:
    HostConnection* connection_;
    fix::Session* session_;
    const std::string* name_;
    SessionGauges* gauges_;
    WireTap* tap_{nullptr};
    InputBuffer buffer_;
    RateLimit rate_;
    bool cut_off_when_exceeded_;
    bool paused_{false};
    bool stopped_{false};
};

}  // namespace millpond::engine
