#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include <sched.h>
#include <sys/socket.h>

#include <millpond/core/idle.hpp>

#include "bench/engine/raw_path.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// The minimum of handing messages to another thread that writes them to a socket: a counter has the number of
/// messages, and the thread spins on it and sends the bytes of all waiting orders at once. Encodes, stores and counts
/// nothing.
class RawSendPath {
public:
    RawSendPath() {
        sender_ = std::thread([this] { run(); });
        send();
        spin_until([&] { return arrived() == 1; });
    }
    RawSendPath(const RawSendPath&) = delete;
    RawSendPath& operator=(const RawSendPath&) = delete;
    ~RawSendPath() {
        stop_.store(true);
        sender_.join();
    }

    void send() { handed_.store(++sent_, std::memory_order_release); }
    /// Number of messages that the peer has received in total. Does not wait.
    [[nodiscard]] std::uint64_t arrived() {
        const auto got = ::recv(sockets_.there, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (got > 0) bytes_ += static_cast<std::uint64_t>(got);
        return bytes_ / kOrderBytes;
    }
    [[nodiscard]] std::uint64_t written() const { return written_.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t kOrderBytes = 181;

    void run() {
        run_on(two_cores().second);
        constexpr std::uint64_t kMaxAtOnce = 64;
        const std::array<char, kMaxAtOnce * kOrderBytes> orders{};
        std::uint64_t done = 0;
        for (std::uint32_t fruitless = 0; !stop_.load(std::memory_order_relaxed);) {
            const auto waiting = std::min(handed_.load(std::memory_order_acquire) - done, kMaxAtOnce);
            if (waiting == 0) {
                core::cpu_relax();
                if (++fruitless % 20'000 == 0) sched_yield();
                continue;
            }
            const auto bytes = waiting * kOrderBytes;
            if (::send(sockets_.here, orders.data(), bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) {
                return;  // the waiting reader times out with an error
            }
            written_.store(done += waiting, std::memory_order_relaxed);
        }
    }

    TcpPair sockets_;
    std::uint64_t sent_{0};
    std::uint64_t bytes_{0};
    std::array<char, 65'536> buffer_{};
    std::atomic<bool> stop_{false};
    alignas(64) std::atomic<std::uint64_t> handed_{0};
    alignas(64) std::atomic<std::uint64_t> written_{0};
    std::thread sender_;
};

}  // namespace millpond::bench
