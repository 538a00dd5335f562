#pragma once

#include <string_view>

namespace millpond::engine {

class SessionLink;

/// Receives all messages that a session sends, including those of senders and of the session layer.
///
/// Threads: the I/O thread.
class SentObserver {
public:
    /// Called for a message that has its number and is in the store, possibly before it is written to the socket; not
    /// for resends and gap fills. Nothing can be sent from within this call. message: valid during the call.
    virtual void on_sent(SessionLink& link, std::string_view message) noexcept = 0;

protected:
    ~SentObserver() = default;
};

}  // namespace millpond::engine
