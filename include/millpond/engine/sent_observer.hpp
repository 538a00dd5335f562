#pragma once

#include <string_view>

namespace millpond::engine {

class SessionLink;

/// Sees the messages of a session, those of senders and of the session layer included.
///
/// Threads: the I/O thread's.
class SentObserver {
public:
    /// A message has its number and lies in the store; the socket may not have it yet. Resends and gap fills are not
    /// shown again. Nothing can be sent from within this call, and the message ends with it.
    virtual void on_sent(SessionLink& link, std::string_view message) noexcept = 0;

protected:
    ~SentObserver() = default;
};

}  // namespace millpond::engine
