#pragma once

#include <functional>
#include <string>
#include <vector>

#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// What a connection that asks for a session shows of itself.
struct LogonAttempt {
    std::string comp_id{};                         ///< SenderCompID of the Logon.
    std::string username{};                        ///< Username(553).
    std::string password{};                        ///< Password(554).
    std::string new_password{};                    ///< NewPassword(925).
    net::SocketAddress peer{};                     ///< Its address.
    std::vector<std::string> certificate_names{};  ///< Of a certificate that TLS verified: "CN=desk,O=Broker" (subject,
                                                   ///< RFC 2253) and "DNS:" (in lower case), "URI:", "email:" and
                                                   ///< "IP:" with a name.
    /// A guard that the session had before has put the new password in force in place of the old one.
    bool password_changed{false};
};

/// What a guard says of an attempt.
struct LogonAnswer {
    std::string refusal{};  ///< Empty: it may; else why not, for the log.
    bool password_changed{
        false};  ///< The reply has SessionStatus(1409) = 1 where the dictionary's Logon has that field.
};

/// Decides which connections may ask an acceptor's session to log on. It is asked before the session: a connection that
/// it refuses is closed without a reply and costs no number. Where the session gets another guard meanwhile, that one
/// is asked too. A later Logon of the same connection, which resets the numbers, must be of the same user and have no
/// NewPassword; its password is not looked at. A Logon with Username, Password or NewPassword more than once is refused
/// before it is asked.
///
/// Threads: check on the acceptor's I/O thread, and for sessions of several acceptors on several of them.
class LogonGuard {
public:
    using Answer = std::function<void(LogonAnswer)>;

    LogonGuard() = default;
    LogonGuard(const LogonGuard&) = delete;
    LogonGuard& operator=(const LogonGuard&) = delete;
    virtual ~LogonGuard() = default;

    /// Must not wait: `answer` is called once, within this call or later on any thread, also after the acceptor is
    /// gone. Until then the connection waits, as long as for its first message.
    virtual void check(LogonAttempt attempt, Answer answer) = 0;
};

}  // namespace millpond::engine
