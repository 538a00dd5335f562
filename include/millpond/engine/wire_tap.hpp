#pragma once

#include <cstdint>
#include <string_view>

#include <millpond/fix/session_handler.hpp>

namespace millpond::engine {

enum class Direction : std::uint8_t { in, out };

/// Receives all bytes that a session sends and receives: complete messages, several at a time, and garbled ones.
///
/// Threads: called on the session's I/O thread, between receive and send: it must not block.
class WireTap {
public:
    /// Called when a connection of the session begins; an incomplete message of the previous one is not continued.
    virtual void on_connect(std::string_view session) noexcept { static_cast<void>(session); }
    /// Called for sent or received bytes. session: SessionHandle::name. bytes: valid during the call.
    virtual void on_bytes(std::string_view session, Direction direction, std::string_view bytes,
                          std::int64_t utc_ns) noexcept = 0;
    /// Called after on_bytes when a message was rejected.
    virtual void on_rejected(std::string_view session, const fix::RejectedMessage& rejected) noexcept {
        static_cast<void>(session), static_cast<void>(rejected);
    }

protected:
    ~WireTap() = default;
};

}  // namespace millpond::engine
