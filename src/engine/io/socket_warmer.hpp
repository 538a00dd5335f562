#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/moment.hpp>

namespace millpond::engine {

/// A TCP connection of a thread to itself over loopback. A message on it brings the code and data that the kernel needs
/// for sending into the caches.
///
/// Threads: one.
/// Memory:  two sockets.
class SocketWarmer {
public:
    static constexpr std::chrono::nanoseconds kMinInterval{900'000};  ///< Minimum time between two messages.

    /// Connects to itself. Has no connection if the system refuses it.
    SocketWarmer() noexcept;

    [[nodiscard]] bool is_connected() const noexcept { return bool{sending_}; }
    /// Sends a message and reads earlier ones, unless the last one was sent less than kMinInterval ago. Two or three
    /// non-blocking system calls. Returns false if no message was sent.
    bool touch(core::Moment now) noexcept;

private:
    void connect();

    core::Descriptor sending_;
    core::Descriptor receiving_;
    std::int64_t next_ns_{0};
    std::array<char, 256> buffer_{};
};

}  // namespace millpond::engine
