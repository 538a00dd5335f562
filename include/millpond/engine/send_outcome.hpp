#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millpond::engine {

/// What became of a message when it was handed to a sender.
enum class Handed : std::uint8_t {
    queued,  ///< The I/O thread has it.
    full,    ///< Its lane is full: the caller still has it, and may try again later.
    closed,  ///< The sender accepts no more: the caller keeps it.
};

/// The lanes of a sender, the most urgent first.
enum class Lane : std::uint8_t { urgent, high, normal, low };
inline constexpr std::size_t kLanes = 4;

/// A producer's options for one message.
struct SendTerms {
    Lane lane{Lane::normal};
    std::int64_t deadline_utc_ns{0};  ///< Not sent any more after it; 0: none.
    std::uint64_t token{0};           ///< Comes back with what became of the message.
};

/// Why a message was not sent. No sequence number was used up.
enum class SendFailure : std::uint8_t {
    expired,        ///< Its deadline was over.
    not_logged_on,  ///< There is no session, and WhileDown is fail.
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

/// A message that has its number and is in the store.
struct Sent {
    std::uint64_t token{0};
    std::uint64_t sequence{0};
    /// Whether it was written to the socket. If not, the connection ended first or there was none: it is resent on the
    /// peer's request.
    bool written{false};
};

/// What a sender does with messages while the session is not logged on.
enum class WhileDown : std::uint8_t {
    hold,  ///< They stay in their lanes until it is, or until their deadlines.
    fail,  ///< They fail at once.
    /// They get their numbers and stay in the store, as fix::Session::keep says; while the session's schedule is closed
    /// or the store is full they stay in their lanes.
    keep,
};

struct SenderOptions {
    std::size_t lane_capacity{1024};  ///< Messages a lane, a power of two.
    std::uint32_t patience{0};        ///< As for queue::PriorityLanes.
    WhileDown while_down{WhileDown::hold};
    std::uint32_t max_attempts{0};    ///< How often a message may find the connection busy; 0: until its deadline.
    std::size_t max_in_flight{1024};  ///< Messages with a number that the socket has not taken; a power of two.
};

/// Told what became of messages, on the I/O thread.
template <class T>
class SendListener {
public:
    virtual void on_sent(const Sent& sent) noexcept { static_cast<void>(sent); }
    /// message: released when this returns.
    virtual void on_failed(const T& message, SendFailure failure, std::uint64_t token) noexcept {
        static_cast<void>(message), static_cast<void>(failure), static_cast<void>(token);
    }

protected:
    ~SendListener() = default;
};

}  // namespace millpond::engine
