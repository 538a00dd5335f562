#pragma once

#include <cstddef>
#include <span>

#include <millpond/feed/moldudp64_request.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

namespace millpond::gateway {

/// Asks a MoldUDP64 server for messages. The socket is connected: only datagrams of the server's address and port are
/// answers.
///
/// Threads: one.
class RequestClient {
public:
    /// receive_buffer: asked of the kernel for the answers; 0: its default. Throws what UdpReceiver throws.
    explicit RequestClient(const net::SocketAddress& server, std::size_t receive_buffer = 0)
        : server_(server), answers_({.peer = server, .receive_buffer = receive_buffer}) {}

    /// A request that the kernel does not take counts as lost: it is sent again.
    void send(const feed::MoldUdp64Request& request) noexcept { static_cast<void>(answers_.send(request.bytes())); }
    /// Valid until the next call.
    [[nodiscard]] std::span<const net::Datagram> poll() noexcept { return answers_.poll(); }

    [[nodiscard]] int fd() const noexcept { return answers_.fd(); }
    [[nodiscard]] const net::SocketAddress& server() const noexcept { return server_; }

private:
    net::SocketAddress server_;
    net::UdpReceiver answers_;
};

}  // namespace millpond::gateway
