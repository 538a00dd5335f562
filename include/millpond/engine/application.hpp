#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <millpond/engine/refusal.hpp>
#include <millpond/engine/session_handle.hpp>
#include <millpond/engine/session_status.hpp>
#include <millpond/fix/session.hpp>

namespace millpond::engine {

/// A session as the application sees it: its identity and a way to send.
///
/// Threads: the engine's thread.
class SessionLink {
public:
    /// Sends a message now, see fix::Session::send.
    template <class Fill>
    [[nodiscard]] bool send(std::string_view msg_type, Fill&& fill, const fix::Routing& routing = {}) {
        return sending_session().send(msg_type, now(), std::forward<Fill>(fill), routing);
    }
    void logout(std::string_view reason) { sending_session().logout(reason, now()); }
    [[nodiscard]] virtual const fix::Session& session() const noexcept = 0;
    /// Handle of the session for other threads.
    [[nodiscard]] virtual SessionHandle& handle() noexcept = 0;
    /// Monotonic time at which the current action began, for example when the message's bytes were available.
    [[nodiscard]] virtual std::int64_t began_ns() const noexcept = 0;
    /// The peer's address; empty while disconnected.
    [[nodiscard]] virtual const net::SocketAddress& peer() const noexcept = 0;

protected:
    ~SessionLink() = default;
    [[nodiscard]] virtual fix::Session& sending_session() noexcept = 0;
    [[nodiscard]] virtual core::Moment now() const noexcept = 0;
};

/// Callbacks of the engine for the events of sessions, on the I/O thread.
class Application {
public:
    virtual ~Application() = default;

    [[nodiscard]] virtual bool may_log_on(SessionLink& link, const fix::Message& logon) {
        static_cast<void>(link), static_cast<void>(logon);
        return true;
    }
    /// Called before a session message, also a gap fill, is encoded into the store. Its number and time are final;
    /// further fields may be added to the draft, and a Logon may be refused. Nothing can be sent from within this call.
    virtual void on_send_admin(SessionLink& link, fix::AdminDraft& draft) {
        static_cast<void>(link), static_cast<void>(draft);
    }
    virtual void on_logon(SessionLink& link) { static_cast<void>(link); }
    virtual void on_logout(SessionLink& link, std::string_view text) {
        static_cast<void>(link), static_cast<void>(text);
    }
    /// Called when a connection did not log on; on_closed follows. RefusalReason::unreachable: there was no connection,
    /// and on_closed does not follow.
    virtual void on_refused(SessionLink& link, const Refusal& why) { static_cast<void>(link), static_cast<void>(why); }
    /// Called when the connection has ended. It is the last call of an action: an exception leaves IoThread::poll and
    /// changes nothing in the engine.
    virtual void on_closed(SessionLink& link, Closed reason) { static_cast<void>(link), static_cast<void>(reason); }
    [[nodiscard]] virtual fix::Verdict on_message(SessionLink& link, const fix::Message& message) = 0;
    /// Called before an application message is resent, with the stored message. Returns false to send a gap fill
    /// instead, for example for a stale order. Called on the I/O thread for each message of a resend, up to
    /// SessionConfig::resend_burst in a row, so it delays all sessions of the thread and must not block. Nothing can be
    /// sent from within this call. message: valid during the call.
    [[nodiscard]] virtual bool may_resend(SessionLink& link, const fix::Message& message) {
        static_cast<void>(link), static_cast<void>(message);
        return true;
    }
    virtual void on_reject(SessionLink& link, const fix::Message& reject) {
        static_cast<void>(link), static_cast<void>(reject);
    }
    /// Called when a message of the peer was rejected by the session or by the verdict of on_message, or is too long.
    virtual void on_rejected(SessionLink& link, const fix::RejectedMessage& rejected) {
        static_cast<void>(link), static_cast<void>(rejected);
    }
    /// See fix::SessionHandler::on_heartbeat_changed.
    virtual void on_heartbeat_changed(SessionLink& link, std::int64_t seconds) {
        static_cast<void>(link), static_cast<void>(seconds);
    }
    /// Called when the peer requested messages that are no longer in the store, or damaged there.
    virtual void on_history_lost(SessionLink& link, const fix::LostHistory& lost) {
        static_cast<void>(link), static_cast<void>(lost);
    }
};

}  // namespace millpond::engine
