#pragma once

#include <cstdint>
#include <string_view>

#include <millpond/fix/admin_draft.hpp>
#include <millpond/fix/message.hpp>
#include <millpond/fix/tag.hpp>

namespace millpond::fix {

/// Why a session wants its connection closed.
enum class Disconnect : std::uint8_t {
    logged_out,         ///< The Logout handshake is complete.
    logout_timeout,     ///< The peer did not answer our Logout.
    logon_timeout,      ///< No Logon arrived.
    logon_refused,      ///< The Logon was garbled, not the first message, or not for this session.
    heartbeat_timeout,  ///< The peer did not answer a TestRequest.
    sequence_too_low,   ///< A number that was used already, without PossDupFlag.
    send_refused,       ///< The peer takes nothing and the store is full of what it has not taken.
    outside_schedule,   ///< The session's time is over or has not started.
    not_encoded,        ///< A session message that we owed did not fit into max_message_bytes.
    numbers_used_up,    ///< The next number to send is beyond kMaxSequence: the session must be reset.
};

[[nodiscard]] std::string_view name(Disconnect reason) noexcept;

/// Why a Logon was not accepted, by us or by the peer.
struct LogonRefusal {
    Tag tag{tag::kInvalid};     ///< The field at fault; kInvalid where none is.
    std::string_view reason{};  ///< In words, or the peer's. Lives as long as the call.
};

/// What the application makes of a message. The numbers are those of BusinessRejectReason(380).
enum class Verdict : std::int8_t {
    accepted = -1,
    other = 0,
    unknown_id = 1,
    unknown_security = 2,
    unsupported_message_type = 3,
    application_not_available = 4,
    conditionally_required_field_missing = 5,
    not_authorized = 6,
};

/// Messages of one ResendRequest that are not in the store: the peer gets gap fills in their place.
struct LostHistory {
    std::uint64_t first{0};  ///< Of the part of the request's range that was answered.
    std::uint64_t last{0};
    std::uint64_t messages{0};   ///< Of its numbers, those that are not in the store.
    std::uint64_t gap_fills{0};  ///< In their place.
};

/// What a session drives: the connection on one side, the application on the other. Called on the session's thread,
/// from within the session's calls.
class SessionHandler {
public:
    virtual ~SessionHandler() = default;

    /// Bytes for the socket, whole messages in order. They lie in the store and stay until MessageStore::mark_written
    /// was told `sequence`; 0: they are a resend, and stay only during the call.
    virtual void send(std::uint64_t sequence, std::string_view bytes) = 0;
    /// Close the connection when what was sent is out; then call Session::on_disconnect.
    virtual void disconnect(Disconnect reason) = 0;
    /// Whether the connection has so much to send that a resend should wait (until Session::on_writable).
    [[nodiscard]] virtual bool congested() const { return false; }

    /// Whether this Logon may enter: user name and password, addresses, a duplicate of the session.
    [[nodiscard]] virtual bool may_log_on(const Message& logon) {
        static_cast<void>(logon);
        return true;
    }
    /// Why the session lets no Logon in at present; empty: it does. The peer gets it as the Text of a Logout.
    [[nodiscard]] virtual std::string_view closed_because() const { return {}; }
    virtual void on_logon() {}
    /// No Logon came about; `disconnect` follows.
    virtual void on_logon_refused(const LogonRefusal& why) { static_cast<void>(why); }
    virtual void on_logout(std::string_view text) { static_cast<void>(text); }
    /// An application message in its turn. It may be sent once more (PossDupFlag=Y) only if the process died in here.
    [[nodiscard]] virtual Verdict on_message(const Message& message) = 0;
    /// The peer rejected one of ours: a Reject, or a Logout with a reason.
    virtual void on_reject(const Message& reject) { static_cast<void>(reject); }
    /// The answer to a ResendRequest is complete, or was cut off, and lacked messages that are not in the store. Called
    /// once for each request.
    virtual void on_history_lost(const LostHistory& lost) { static_cast<void>(lost); }
    /// A session message is about to be sent, gap fills included: the handler may add and replace fields, and refuse a
    /// Logon. Nothing can be sent from within this call.
    virtual void on_send_admin(AdminDraft& draft) { static_cast<void>(draft); }
    /// Whether an application message that the peer asks for again is still worth sending; else its number is filled.
    /// It is as it was stored. Nothing can be sent from within this call.
    [[nodiscard]] virtual bool may_resend(const Message& message) {
        static_cast<void>(message);
        return true;
    }
};

}  // namespace millpond::fix
