#pragma once

#include <cstdint>
#include <string_view>

#include <millpond/core/moment.hpp>
#include <millpond/engine/application.hpp>
#include <millpond/engine/sent_observer.hpp>
#include <millpond/fix/session.hpp>

#include "src/engine/session/host_connection.hpp"
#include "src/engine/session/output_path.hpp"
#include "src/engine/session/sender_pump.hpp"
#include "src/engine/session/session_action.hpp"
#include "src/engine/session/session_gauges.hpp"

namespace millpond::engine {

/// All output of a session: messages of its senders and of the session itself, until they are written to the socket.
///
/// Threads: the I/O thread's.
/// Memory:  allocated in the constructor.
class SessionOutput {
public:
    /// All arguments must outlive it. file: see OutputPath.
    SessionOutput(SessionLink& link, const SessionOptions& options, fix::Session& session, fix::MessageStore& store,
                  fix::FileStore* file, const std::string& name, HostConnection& connection, SessionAction& action,
                  SessionGauges& gauges)
        : link_(&link),
          observer_(options.sent),
          connection_(&connection),
          action_(&action),
          gauges_(&gauges),
          path_(connection, store, file, name, options.limits, options.config.max_message_bytes, action.stamp()),
          senders_(session, path_, action.stamp()) {}

    [[nodiscard]] OutputPath& path() noexcept { return path_; }
    [[nodiscard]] const OutputPath& path() const noexcept { return path_; }
    [[nodiscard]] SenderPump& senders() noexcept { return senders_; }
    [[nodiscard]] const SenderPump& senders() const noexcept { return senders_; }

    void begin_connection() noexcept {
        path_.clear();
        was_congested_ = false;
    }
    /// See fix::SessionHandler::send. Ends the connection of a peer that reads too slowly.
    void send(std::uint64_t sequence, std::string_view bytes);
    /// Writes as much as the socket accepts, and reports written messages to their senders.
    void flush();
    /// Sends waiting messages of producers.
    void pump(core::Moment now);
    /// Flushes at the end of an action. Returns true if the output was congested and no longer is.
    [[nodiscard]] bool finish_action();
    void note_congestion() noexcept { was_congested_ = was_congested_ || path_.is_congested(); }

private:
    SessionLink* link_;
    SentObserver* observer_;
    HostConnection* connection_;
    SessionAction* action_;
    SessionGauges* gauges_;
    OutputPath path_;
    SenderPump senders_;
    bool was_congested_{false};
};

}  // namespace millpond::engine
