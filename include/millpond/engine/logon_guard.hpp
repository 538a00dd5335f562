#pragma once

#include <functional>
#include <string>
#include <vector>

#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// Credentials in a Logon for a session.
struct LogonAttempt {
    std::string comp_id{};       ///< SenderCompID of the Logon.
    std::string username{};      ///< Username(553).
    std::string password{};      ///< Password(554).
    std::string new_password{};  ///< NewPassword(925).
    net::SocketAddress peer{};   ///< Address of the peer.
    std::vector<std::string>
        certificate_names{};  ///< Names in a certificate that TLS verified: "CN=desk,O=Broker" (subject, RFC 2253) and
                              ///< "DNS:" (in lower case), "URI:", "email:" and "IP:" with a name.
    /// Whether the session's previous guard has already replaced the old password by the new one.
    bool password_changed{false};
};

/// Answer of a guard.
struct LogonAnswer {
    std::string refusal{};  ///< Reason of the refusal, for the log; empty: accepted.
    bool password_changed{
        false};  ///< The reply has SessionStatus(1409) = 1 where the dictionary's Logon has that field.
};

/// Decides which connections may log on to an acceptor's session. The guard is asked before the session: a refused
/// connection is closed without a reply and uses no sequence number. If the session gets another guard meanwhile, that
/// guard is asked too. A later Logon on the same connection, which resets the numbers, must be of the same user and
/// have no NewPassword; its password is not checked. A Logon that repeats Username, Password or NewPassword is refused
/// before the guard is asked.
///
/// Threads: check is called on the acceptor's I/O thread, and for sessions of several acceptors on several threads.
class LogonGuard {
public:
    using Answer = std::function<void(LogonAnswer)>;

    LogonGuard() = default;
    LogonGuard(const LogonGuard&) = delete;
    LogonGuard& operator=(const LogonGuard&) = delete;
    virtual ~LogonGuard() = default;

    /// Checks a Logon. Must not block: call `answer` once, within this call or later on any thread, even after the
    /// acceptor was destroyed. The connection waits for it, at most as long as for its first message.
    virtual void check(LogonAttempt attempt, Answer answer) = 0;
};

}  // namespace millpond::engine
