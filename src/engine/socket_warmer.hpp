#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/moment.hpp>

namespace millpond::engine {

/// A TCP connection of a thread with itself over loopback. A message on it brings into the caches what the kernel needs
/// to send on others.
///
/// Threads: one.
/// Memory:  two sockets.
class SocketWarmer {
public:
    static constexpr std::chrono::nanoseconds kLeastTime{900'000};  ///< Between two messages.

    /// Without a connection, where the system gives none.
    SocketWarmer() noexcept;

    [[nodiscard]] bool is_connected() const noexcept { return bool{sending_}; }
    /// Sends a message and takes what has come; nothing if the last one was sent less than kLeastTime ago. Two or three
    /// system calls that do not wait. False: nothing was sent.
    bool touch(core::Moment now) noexcept;

private:
    void connect();

    core::Descriptor sending_;
    core::Descriptor receiving_;
    std::int64_t next_ns_{0};
    std::array<char, 256> room_{};
};

}  // namespace millpond::engine
