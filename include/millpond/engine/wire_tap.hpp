#pragma once

#include <cstdint>
#include <string_view>

namespace millpond::engine {

enum class Direction : std::uint8_t { in, out };

/// Sees all bytes of a session as sent and received: complete messages, several at a time, garbled ones too.
///
/// Threads: called on the session's I/O thread, between receive and send: it must not wait.
class WireTap {
public:
    /// A connection of the session begins: what the one before left unfinished is not continued.
    virtual void on_connect(std::string_view session) noexcept { static_cast<void>(session); }
    /// session: as SessionHandle::name. bytes: valid during the call.
    virtual void on_bytes(std::string_view session, Direction direction, std::string_view bytes,
                          std::int64_t utc_ns) noexcept = 0;

protected:
    ~WireTap() = default;
};

}  // namespace millpond::engine
