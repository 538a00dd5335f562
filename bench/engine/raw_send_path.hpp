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

/// The least that handing a message to another thread, which writes it to a socket, takes: a counter says how many are
/// handed over, the thread spins on it and sends as many bytes as those orders have, all that wait at once. Nothing is
/// encoded, kept or counted.
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
    /// Messages that the peer has, all in all. Does not wait.
    [[nodiscard]] std::uint64_t arrived() {
        const auto got = ::recv(sockets_.there, room_.data(), room_.size(), MSG_DONTWAIT);
        if (got > 0) bytes_ += static_cast<std::uint64_t>(got);
        return bytes_ / kOrderBytes;
    }
    [[nodiscard]] std::uint64_t written() const { return written_.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t kOrderBytes = 181;

    void run() {
        run_on(two_cores().second);
        constexpr std::uint64_t kMostAtOnce = 64;
        const std::array<char, kMostAtOnce * kOrderBytes> orders{};
        std::uint64_t done = 0;
        for (std::uint32_t fruitless = 0; !stop_.load(std::memory_order_relaxed);) {
            const auto waiting = std::min(handed_.load(std::memory_order_acquire) - done, kMostAtOnce);
            if (waiting == 0) {
                core::cpu_relax();
                if (++fruitless % 20'000 == 0) sched_yield();
                continue;
            }
            const auto bytes = waiting * kOrderBytes;
            if (::send(sockets_.here, orders.data(), bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) {
                return;  // a reader that waits for it gives up and says so
            }
            written_.store(done += waiting, std::memory_order_relaxed);
        }
    }

    TcpPair sockets_;
    std::uint64_t sent_{0};
    std::uint64_t bytes_{0};
    std::array<char, 65'536> room_{};
    std::atomic<bool> stop_{false};
    alignas(64) std::atomic<std::uint64_t> handed_{0};
    alignas(64) std::atomic<std::uint64_t> written_{0};
    std::thread sender_;
};

}  // namespace millpond::bench
