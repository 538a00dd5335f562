#pragma once

#include <cstdint>
#include <string>

#include <millpond/core/moment.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/engine/wire_tap.hpp>
#include <millpond/fix/session.hpp>

#include "host_connection.hpp"
#include "input_buffer.hpp"
#include "rate_limit.hpp"
#include "session_gauges.hpp"

namespace millpond::engine {

/// What a peer sends: read into a buffer, shown to the tap and handed to the session, no faster than its rate.
///
/// Threads: the I/O thread's.
/// Memory:  the buffer, taken in the constructor.
class InputPath {
public:
    /// All must outlive it.
    InputPath(HostConnection& connection, fix::Session& session, const std::string& name, const SessionLimits& limits,
              SessionGauges& gauges);

    /// A connection begins; `read` has come already.
    void begin(const InputBuffer& read, core::Moment now);
    void clear() noexcept { buffer_.clear(); }
    /// Reads some buffers full. True: there may be more, and the socket does not say so.
    [[nodiscard]] bool read(core::Moment now);
    /// Hands over what is in the buffer.
    void hand_over(core::Moment now);

    /// Whether it is not read: the peer has sent more than its rate, or the standby is waited for.
    [[nodiscard]] bool is_paused() const noexcept { return paused_ || stopped_; }
    /// Whether nothing is to be read, because of what is held back for the standby. True: reading begins again.
    bool set_stopped(bool stopped);
    /// Ends a pause that lasted long enough.
    void end_pause(core::Moment now);
    /// When the pause is over; kNever: there is none.
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept {
        return paused_ ? rate_.free_at_ns() : detail::kNever;
    }
    /// Null: none.
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
