#include "src/engine/io/socket_warmer.hpp"

#include <exception>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include <millpond/net/socket_address.hpp>

#include "src/engine/io/tcp_sockets.hpp"

namespace millpond::engine {
namespace {

constexpr auto kOwnAddress = "127.0.0.1";
constexpr int kPatienceMillis = 100;

net::SocketAddress own_address(int socket) noexcept {
    sockaddr_storage kernel{};
    socklen_t size = sizeof kernel;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&kernel), &size) != 0) return {};
    return net::SocketAddress::from_kernel(kernel);
}

}  // namespace

SocketWarmer::SocketWarmer() noexcept {
    try {
        connect();
    } catch (const std::exception&) {  // no address or no descriptors: messages are sent without warming
        sending_ = {};
    }
}

void SocketWarmer::connect() {
    const auto listening = listening_socket(kOwnAddress, 0);
    auto sending = connecting_socket(net::SocketAddress::parse_host(kOwnAddress).with_port(listening.port));
    if (!sending) return;
    pollfd ready{.fd = listening.socket.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, kPatienceMillis) != 1) return;
    auto accepted = accepted_socket(listening.socket.get());
    // Another program may have connected first.
    if (!accepted || accepted->peer != own_address(sending.get())) return;
    sending_ = std::move(sending);
    receiving_ = std::move(accepted->socket);
}

bool SocketWarmer::touch(core::Moment now) noexcept {
    if (!sending_ || now.monotonic_ns < next_ns_) return false;
    next_ns_ = now.monotonic_ns + kMinInterval.count();
    const auto sent = ::send(sending_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    // There is more than one message if the last one arrived late.
    while (::recv(receiving_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT) ==
           static_cast<ssize_t>(buffer_.size())) {
    }
    return sent > 0;
}

}  // namespace millpond::engine
