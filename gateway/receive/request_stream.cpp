#include "gateway/receive/request_stream.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/net/socket_error.hpp>

namespace millpond::gateway {

RequestStream::RequestStream(const net::SocketAddress& server, LengthOf length_of, std::size_t receive_buffer)
    : server_(server),
      length_of_(length_of),
      receive_buffer_(receive_buffer),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      received_(kBufferBytes) {
    if (!epoll_) throw net::SocketError(errno, "cannot watch connections to " + server.to_string());
    unsent_.reserve(kMaxRequestBytes);
    segments_.reserve(kMaxSegments);
}

void RequestStream::send(std::span<const std::byte> request, std::uint64_t max_bytes) noexcept {
    close();
    segments_.clear();
    begin_ = end_ = 0;
    unsent_.assign(request.begin(), request.end());  // never allocates: reserved in the constructor
    unsent_begin_ = 0;
    bytes_left_ = max_bytes;
    is_connected_ = is_at_end_ = false;
    connections_.add();
    const int family = server_.family() == net::SocketAddress::Family::ipv6 ? AF_INET6 : AF_INET;
    socket_ = core::Descriptor{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket_) return fail();
    if (receive_buffer_ != 0) {
        const auto bytes = static_cast<int>(receive_buffer_);
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    epoll_event wanted{.events = EPOLLIN | EPOLLOUT, .data = {}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket_.get(), &wanted) != 0) return fail();
    connect();
}

/// Starts or continues to connect; the request is sent once the connection exists.
void RequestStream::connect() noexcept {
    sockaddr_storage address{};
    const auto length = server_.to_kernel(address);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno != EISCONN) {
        if (errno != EINPROGRESS && errno != EALREADY && errno != EINTR) fail();
        return;
    }
    is_connected_ = true;
    flush();
}

void RequestStream::flush() noexcept {
    const auto rest = std::span{unsent_}.subspan(unsent_begin_);
    const auto sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) fail();
        return;
    }
    unsent_begin_ += static_cast<std::size_t>(sent);
    if (unsent_begin_ != unsent_.size()) return;
    epoll_event wanted{.events = EPOLLIN, .data = {}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket_.get(), &wanted);
}

std::span<const net::Datagram> RequestStream::poll() noexcept {
    segments_.clear();
    if (!socket_) return {};
    if (!is_connected_) connect();
    if (!socket_ || !is_connected_) return {};
    if (unsent_begin_ != unsent_.size()) flush();
    if (!socket_ || !receive()) return {};
    const net::Datagram now{.bytes = {}, .receive_utc_ns = core::utc_nanos(), .receive_ticks = core::ticks()};
    while (segments_.size() != kMaxSegments) {
        const auto bytes = std::span<const std::byte>{received_}.subspan(begin_, end_ - begin_);
        const auto length = length_of_(bytes);
        if (!length || *length > bytes.size()) break;
        auto segment = now;
        segment.bytes = bytes.first(*length);
        segments_.push_back(segment);  // never allocates: reserved in the constructor
        begin_ += *length;
    }
    if (is_at_end_ && segments_.empty()) {
        if (begin_ == end_) {
            close();
        } else {
            fail();  // within a segment
        }
    }
    return segments_;
}

/// Receives bytes behind those that were not passed on. True if segments may be complete.
bool RequestStream::receive() noexcept {
    if (begin_ != 0) {
        std::memmove(received_.data(), received_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    }
    if (end_ == received_.size()) return true;
    const auto got = ::recv(socket_.get(), received_.data() + end_, received_.size() - end_, 0);
    if (got > 0) {
        if (static_cast<std::uint64_t>(got) > bytes_left_) {
            fail();
            return false;
        }
        bytes_left_ -= static_cast<std::uint64_t>(got);
        end_ += static_cast<std::size_t>(got);
        return true;
    }
    if (got == 0) {
        is_at_end_ = true;
        return true;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return end_ != 0;
    fail();
    return false;
}

}  // namespace millpond::gateway
