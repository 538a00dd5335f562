#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include <millpond/feed/moldudp64_request.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

namespace millpond::gateway {

/// Requests messages from a MoldUDP64 server. The socket is connected: only datagrams of the server's address and port
/// are answers. While there is no route to the server, nothing is requested, and beat tries again.
///
/// Threads: one; is_reachable on any.
class RequestClient {
public:
    /// receive_buffer: bytes to request from the kernel; 0: its default. Throws what UdpReceiver throws.
    explicit RequestClient(const net::SocketAddress& server, std::size_t receive_buffer = 0)
        : server_(server), answers_({.peer = server, .receive_buffer = receive_buffer}) {
        beat();
    }

    /// Sends a request. One that the kernel refuses is repeated like a lost one.
    void send(const feed::MoldUdp64Request& request) noexcept {
        if (!answers_.send(request.bytes())) reachable_.store(false, std::memory_order_relaxed);
    }
    /// Checks for a route if there was none; call it a few times a second.
    void beat() noexcept {
        if (!is_reachable() && answers_.connect()) reachable_.store(true, std::memory_order_relaxed);
    }
    /// False while the kernel has no route to the server.
    [[nodiscard]] bool is_reachable() const noexcept { return reachable_.load(std::memory_order_relaxed); }
    /// Returns received answers, valid until the next call.
    [[nodiscard]] std::span<const net::Datagram> poll() noexcept { return answers_.poll(); }

    [[nodiscard]] int fd() const noexcept { return answers_.fd(); }
    [[nodiscard]] const net::SocketAddress& server() const noexcept { return server_; }

private:
    net::SocketAddress server_;
    net::UdpReceiver answers_;
    std::atomic<bool> reachable_{false};  // written by one thread; orders nothing
};

}  // namespace millpond::gateway
