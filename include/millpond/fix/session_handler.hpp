#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <millpond/fix/admin_draft.hpp>
#include <millpond/fix/message.hpp>
#include <millpond/fix/tag.hpp>

namespace millpond::fix {

/// Reason why a session closes its connection.
enum class Disconnect : std::uint8_t {
    logged_out,         ///< The Logout handshake is complete.
    logout_timeout,     ///< The peer did not answer our Logout.
    logon_timeout,      ///< No Logon arrived.
    logon_refused,      ///< The Logon was garbled, not the first message, or not for this session.
    heartbeat_timeout,  ///< The peer did not answer a TestRequest.
    sequence_too_low,   ///< A number was used already, without PossDupFlag.
    send_refused,       ///< The peer reads nothing and the store is full of unwritten messages.
    outside_schedule,   ///< The session is outside its schedule.
    not_encoded,        ///< A mandatory session message did not fit into max_message_bytes.
    numbers_used_up,    ///< The next number would exceed kMaxSequence: the session must be reset.
};

[[nodiscard]] std::string_view name(Disconnect reason) noexcept;

/// Reason why we or the peer did not accept a Logon.
struct LogonRefusal {
    Tag tag{tag::kInvalid};     ///< The invalid field; kInvalid: none.
    std::string_view reason{};  ///< Reason in words, ours or the peer's. Valid during the call.
};

/// The application's verdict on a message. The values are those of BusinessRejectReason(380).
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

/// A rejected message of the peer, which the application did not receive or has refused. Views are valid during the
/// call.
struct RejectedMessage {
    enum class Kind : std::uint8_t {
        session,   ///< Rejected by the session.
        business,  ///< Rejected by the application's verdict.
        too_long,  ///< Longer than max_message_bytes: ignored and requested once more.
    };
    Kind kind{Kind::session};
    std::string_view reason{};    ///< A text from a fixed set.
    std::string_view detail{};    ///< More specific than the reason; empty: unknown.
    std::uint64_t sequence{0};    ///< 0: unknown.
    std::string_view msg_type{};  ///< Empty: unknown.
    std::string_view tag_text{};  ///< Tag of the faulty field as received; empty: none.
    std::string_view value{};     ///< Value of that field, which may be secret.
    bool in_logon{false};
    std::size_t bytes{0};  ///< Length of the message.
};

/// Messages of a ResendRequest that are missing in the store or damaged: the peer gets gap fills instead.
struct LostHistory {
    std::uint64_t first{0};  ///< First number of the answered part of the request's range.
    std::uint64_t last{0};
    std::uint64_t messages{0};   ///< Numbers that cannot be resent.
    std::uint64_t damaged{0};    ///< Damaged messages among `messages`.
    std::uint64_t gap_fills{0};  ///< Gap fills sent instead.
};

/// Receives a session's output: for the connection and for the application. Called on the session's thread, during
/// calls of the session.
class SessionHandler {
public:
    virtual ~SessionHandler() = default;

    /// Bytes for the socket: whole messages in order. They are in the store and valid until MessageStore::mark_written
    /// is called with `sequence`; 0: a resend, valid only during the call.
    virtual void send(std::uint64_t sequence, std::string_view bytes) = 0;
    /// Close the connection after sending the pending bytes; then call Session::on_disconnect.
    virtual void disconnect(Disconnect reason) = 0;
    /// Whether the connection is congested. A resend then waits until Session::on_writable.
    [[nodiscard]] virtual bool congested() const { return false; }

    /// Authorises a Logon: user name and password, addresses, duplicate sessions.
    [[nodiscard]] virtual bool may_log_on(const Message& logon) {
        static_cast<void>(logon);
        return true;
    }
    /// Reason to refuse all Logons for now, sent as the Text of a Logout; empty: Logons are accepted.
    [[nodiscard]] virtual std::string_view closed_because() const { return {}; }
    virtual void on_logon() {}
    /// Called when the logon failed; `disconnect` follows.
    virtual void on_logon_refused(const LogonRefusal& why) { static_cast<void>(why); }
    virtual void on_logout(std::string_view text) { static_cast<void>(text); }
    /// Delivers an application message, in order. The peer may resend it (PossDupFlag=Y) only if the process dies
    /// during the call.
    [[nodiscard]] virtual Verdict on_message(const Message& message) = 0;
    /// Called when the peer rejected one of our messages: a Reject, or a Logout with a reason.
    virtual void on_reject(const Message& reject) { static_cast<void>(reject); }
    /// Called when a message of a logged-on peer was rejected or is unreadable.
    virtual void on_rejected(const RejectedMessage& rejected) { static_cast<void>(rejected); }
    /// Called when the acceptor's Logon has another HeartBtInt than ours, which is used from now on.
    virtual void on_heartbeat_changed(std::int64_t seconds) { static_cast<void>(seconds); }
    /// Called once for each ResendRequest whose answer is complete, or was interrupted, and lacked messages that are
    /// not in the store.
    virtual void on_history_lost(const LostHistory& lost) { static_cast<void>(lost); }
    /// Called before a session message is sent, including gap fills: the handler may add and replace fields, and refuse
    /// a Logon. It must not send anything.
    virtual void on_send_admin(AdminDraft& draft) { static_cast<void>(draft); }
    /// Whether to resend a stored application message that the peer has requested; otherwise a gap fill is sent. Must
    /// not send anything.
    [[nodiscard]] virtual bool may_resend(const Message& message) {
        static_cast<void>(message);
        return true;
    }
};

}  // namespace millpond::fix
