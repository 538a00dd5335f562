#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/core/tally.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

namespace millpond::gateway {

/// Requests messages from a server by UDP. The socket is connected: only datagrams of the server's address and port
/// are answers. While there is no route to the server, nothing is requested, and beat tries again.
///
/// Threads: one; state on any.
class RequestClient {
public:
    enum class State : std::uint8_t {
        reachable,
        no_route,  ///< The kernel has no route to the server.
        silent,    ///< The server has not answered kSilentAfter tests.
    };

    /// receive_buffer: bytes to request from the kernel; 0: its default. Throws what UdpReceiver throws.
    explicit RequestClient(const net::SocketAddress& server, std::size_t receive_buffer = 0)
        : server_(server), answers_({.peer = server, .receive_buffer = receive_buffer}) {
        beat();
    }

    /// Sends a request. One that the kernel refuses is repeated like a lost one.
    void send(std::span<const std::byte> request) noexcept {
        if (!answers_.send(request)) set(State::no_route);
    }
    /// Checks for a route if there was none; call it a few times a second.
    void beat() noexcept {
        if (state() == State::no_route && answers_.connect())
            set(unanswered_ < kSilentAfter ? State::reachable : State::silent);
    }
    /// Sends a test if one is due: each second until the server has answered, then each minute. Any datagram of the
    /// server is an answer. Call it a few times a second.
    void test(std::span<const std::byte> request, std::int64_t now_ns) noexcept {
        if (state() == State::no_route || now_ns < test_ns_) return;
        if (unanswered_ >= kSilentAfter) set(State::silent);
        ++unanswered_;
        tests_.add();
        test_ns_ = now_ns + kAgainNs;
        send(request);
    }
    /// On any thread.
    [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_relaxed); }
    /// Returns received answers, valid until the next call.
    [[nodiscard]] std::span<const net::Datagram> poll() noexcept {
        const auto answers = answers_.poll();
        if (!answers.empty()) {
            if (unanswered_ != 0) test_ns_ += kPauseNs;
            unanswered_ = 0;
            if (state() == State::silent) set(State::reachable);
        }
        return answers;
    }

    [[nodiscard]] int fd() const noexcept { return answers_.fd(); }
    [[nodiscard]] const net::SocketAddress& server() const noexcept { return server_; }
    [[nodiscard]] const core::Tally& tests() const noexcept { return tests_; }

private:
    static constexpr std::uint32_t kSilentAfter = 3;
    static constexpr std::int64_t kAgainNs = 1'000'000'000;
    static constexpr std::int64_t kPauseNs = 59'000'000'000;

    void set(State state) noexcept { state_.store(state, std::memory_order_relaxed); }

    net::SocketAddress server_;
    net::UdpReceiver answers_;
    std::int64_t test_ns_{0};      // when the next test is due
    std::uint32_t unanswered_{0};  // tests since the last answer
    core::Tally tests_;
    std::atomic<State> state_{State::no_route};  // written by one thread; orders nothing
};

}  // namespace millpond::gateway
