#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millpond::engine {

/// Result of handing a message to a sender.
enum class Handed : std::uint8_t {
    queued,  ///< The I/O thread has the message.
    full,    ///< The lane is full: the caller keeps the message, and may try again later.
    closed,  ///< The sender is closed: the caller keeps the message.
};

/// The lanes of a sender, most urgent first.
enum class Lane : std::uint8_t { urgent, high, normal, low };
inline constexpr std::size_t kLanes = 4;

/// A producer's options for one message.
struct SendTerms {
    Lane lane{Lane::normal};
    std::int64_t deadline_utc_ns{0};  ///< The message is not sent after this time; 0: no deadline.
    std::uint64_t token{0};           ///< Returned with the outcome of the message.
};

/// Reason why a message was not sent. No sequence number was used up.
enum class SendFailure : std::uint8_t {
    expired,        ///< Its deadline has passed.
    not_logged_on,  ///< The session is not logged on, and WhileDown is fail.
    too_busy,       ///< The connection was busy as often as max_attempts allows.
    not_encoded,    ///< The encoder refused it, or it is longer than max_message_bytes.
    shut_down,      ///< The sender ended with the message in its lanes.
};

[[nodiscard]] constexpr std::string_view name(SendFailure failure) noexcept {
    switch (failure) {
        case SendFailure::expired: return "expired";
        case SendFailure::not_logged_on: return "not logged on";
        case SendFailure::too_busy: return "too busy";
        case SendFailure::not_encoded: return "not encoded";
        case SendFailure::shut_down: return "shut down";
    }
    return "unknown";
}

/// Outcome of a message that has its sequence number and is in the store.
struct Sent {
    std::uint64_t token{0};
    std::uint64_t sequence{0};
    /// Whether the message was written to the socket. If not, the connection ended first or there was none: the message
    /// is resent on the peer's request.
    bool written{false};
};

/// Policy for messages while the session is not logged on.
enum class WhileDown : std::uint8_t {
    hold,  ///< Messages stay in their lanes until the next Logon or their deadlines.
    fail,  ///< Messages fail at once.
    /// Messages get their numbers and stay in the store, see fix::Session::keep. While the session's schedule is closed
    /// or the store is full they stay in their lanes.
    keep,
};

struct SenderOptions {
    std::size_t lane_capacity{1024};  ///< Messages per lane, a power of two.
    std::uint32_t patience{0};        ///< See queue::PriorityLanes.
    WhileDown while_down{WhileDown::hold};
    std::uint32_t max_attempts{0};  ///< Attempts to send a message while the connection is busy; 0: until its deadline.
    std::size_t max_in_flight{
        1024};  ///< Messages with a number that are not yet written to the socket; a power of two.
};

/// Receives the outcome of messages, on the I/O thread.
template <class T>
class SendListener {
public:
    virtual void on_sent(const Sent& sent) noexcept { static_cast<void>(sent); }
    /// Called when a message was not sent. message: valid during the call.
    virtual void on_failed(const T& message, SendFailure failure, std::uint64_t token) noexcept {
        static_cast<void>(message), static_cast<void>(failure), static_cast<void>(token);
    }

protected:
    ~SendListener() = default;
};

}  // namespace millpond::engine
