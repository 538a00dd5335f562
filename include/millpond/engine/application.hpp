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
    /// As fix::Session::send, at this moment.
    template <class Fill>
    [[nodiscard]] bool send(std::string_view msg_type, Fill&& fill, const fix::Routing& routing = {}) {
        return session().send(msg_type, now(), std::forward<Fill>(fill), routing);
    }
    void logout(std::string_view reason) { session().logout(reason, now()); }
    [[nodiscard]] virtual fix::Session& session() noexcept = 0;
    /// The same session for other threads.
    [[nodiscard]] virtual SessionHandle& handle() noexcept = 0;
    /// Monotonic time at which the engine took up what it is doing: found that the message's bytes had come, for one.
    [[nodiscard]] virtual std::int64_t began_ns() const noexcept = 0;
    /// The peer's address; none while disconnected.
    [[nodiscard]] virtual const net::SocketAddress& peer() const noexcept = 0;

protected:
    ~SessionLink() = default;
    [[nodiscard]] virtual core::Moment now() const noexcept = 0;
};

/// What the engine calls when something happened in a session, on its own thread.
class Application {
public:
    virtual ~Application() = default;

    [[nodiscard]] virtual bool may_log_on(SessionLink& link, const fix::Message& logon) {
        static_cast<void>(link), static_cast<void>(logon);
        return true;
    }
    /// A session message is about to be encoded into the store, gap fills included. Its number and time are final; the
    /// draft takes further fields, and a Logon may be refused. Nothing can be sent from within this call.
    virtual void on_send_admin(SessionLink& link, fix::AdminDraft& draft) {
        static_cast<void>(link), static_cast<void>(draft);
    }
    virtual void on_logon(SessionLink& link) { static_cast<void>(link); }
    virtual void on_logout(SessionLink& link, std::string_view text) {
        static_cast<void>(link), static_cast<void>(text);
    }
    /// The session's connection did not log on; on_closed follows. With RefusalReason::unreachable none came about, and
    /// on_closed does not follow.
    virtual void on_refused(SessionLink& link, const Refusal& why) { static_cast<void>(link), static_cast<void>(why); }
    /// The connection is gone, or none came about. The last call of an action: what it throws leaves the engine as it
    /// is, and IoThread::poll.
    virtual void on_closed(SessionLink& link, Closed reason) { static_cast<void>(link), static_cast<void>(reason); }
    [[nodiscard]] virtual fix::Verdict on_message(SessionLink& link, const fix::Message& message) = 0;
    /// The peer asks again for an application message that this side has sent, given as it was stored. False: its
    /// number is filled instead, and the peer never gets it; a stale order, say. Comes on the I/O thread for each
    /// message of a resend, up to SessionConfig::resend_burst in a row, so it delays all sessions of the thread: look
    /// something up, wait for nothing. Nothing can be sent from within this call, and the message ends with it.
    [[nodiscard]] virtual bool may_resend(SessionLink& link, const fix::Message& message) {
        static_cast<void>(link), static_cast<void>(message);
        return true;
    }
    virtual void on_reject(SessionLink& link, const fix::Message& reject) {
        static_cast<void>(link), static_cast<void>(reject);
    }
    /// The peer requested messages that the store no longer has: they are lost to it.
    virtual void on_history_lost(SessionLink& link, const fix::LostHistory& lost) {
        static_cast<void>(link), static_cast<void>(lost);
    }
};

}  // namespace millpond::engine
