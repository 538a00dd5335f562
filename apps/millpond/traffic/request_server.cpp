#include "apps/millpond/traffic/request_server.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <millpond/feed/moldudp64_encoder.hpp>

namespace millpond::traffic {
namespace {

constexpr std::size_t kMaxDatagramBytes = 1'400;

}  // namespace

void SessionMessages::add(std::span<const std::byte> message) {
    bytes_.insert(bytes_.end(), message.begin(), message.end());
    ends_.push_back(bytes_.size());
}

std::span<const std::byte> SessionMessages::message(std::uint64_t number) const noexcept {
    const auto begin = number == 1 ? 0 : ends_[number - 2];
    return std::span{bytes_}.subspan(begin, ends_[number - 1] - begin);
}

RequestServer::RequestServer(const net::SocketAddress& listen, const std::string& session,
                             const SessionMessages& messages)
    : session_name_(session), messages_(messages) {
    session_.fill(' ');
    session.copy(session_.data(), session_.size());
    sockaddr_storage address{};
    auto length = listen.to_kernel(address);
    socket_ = core::Descriptor{::socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket_ || ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot serve requests at " + listen.to_string());
    length = sizeof address;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    address_ = net::SocketAddress::from_kernel(address);
}

std::size_t RequestServer::poll(int timeout_ms) {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (::poll(&wait, 1, timeout_ms) <= 0) return 0;
    std::size_t handled = 0;
    for (;; ++handled) {
        std::array<std::byte, 64> bytes;
        sockaddr_storage from{};
        socklen_t length = sizeof from;
        const auto got =
            ::recvfrom(socket_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
        if (got < 0) return handled;
        requests_.fetch_add(1, std::memory_order_relaxed);
        const auto request = feed::MoldUdp64Request::read(std::span{bytes}.first(static_cast<std::size_t>(got)));
        if (request && request->session == session_) answer(*request, net::SocketAddress::from_kernel(from));
    }
}

void RequestServer::answer(const feed::MoldUdp64Request& request, const net::SocketAddress& to) {
    if (request.first > messages_.size()) return;
    sockaddr_storage address{};
    const auto length = to.to_kernel(address);
    const auto end = std::min(request.first + request.count, messages_.size() + 1);
    feed::MoldUdp64Encoder encoder{session_name_, request.first};
    std::array<std::byte, kMaxDatagramBytes> buffer;
    auto next = request.first;
    for (std::uint64_t datagrams = 0; next < end && datagrams < kMaxDatagrams; ++datagrams) {
        encoder.begin(buffer);
        const auto first = next;
        while (next < end && encoder.add(messages_.message(next))) ++next;
        if (next == first) return;  // message longer than a datagram
        const auto bytes = encoder.finish();
        // Gives up if the kernel does not accept a datagram; the client repeats its request.
        if (::sendto(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL,
                     reinterpret_cast<const sockaddr*>(&address), length) < 0)
            return;
        answered_.fetch_add(next - first, std::memory_order_relaxed);
    }
}

}  // namespace millpond::traffic
