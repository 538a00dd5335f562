#include <millpond/net/soupbin_connection.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/net/socket_error.hpp>

#include "socket_option.hpp"

namespace millpond::net {

std::string to_string(SoupBinFailure failure, int detail) {
    const auto cause = [detail] { return std::generic_category().message(detail); };
    const auto shown = [detail] {
        constexpr std::string_view kDigits = "0123456789abcdef";
        const auto code = static_cast<unsigned char>(detail);
        if (code > ' ' && code <= '~') return "'" + std::string(1, static_cast<char>(code)) + "'";
        return std::string{"0x"} + kDigits[code / 16] + kDigits[code % 16];
    };
    switch (failure) {
        case SoupBinFailure::none: return "no failure";
        case SoupBinFailure::cannot_connect: return "cannot connect: " + cause();
        case SoupBinFailure::no_connection: return "the server does not answer the connect";
        case SoupBinFailure::broken: return "the connection broke: " + cause();
        case SoupBinFailure::closed: return "the server closed the connection";
        case SoupBinFailure::no_login: return "the server does not answer the login";
        case SoupBinFailure::silent: return "the server is silent";
        case SoupBinFailure::not_authorized: return "the server rejected user and password";
        case SoupBinFailure::session_unavailable: return "the server does not have the session";
        case SoupBinFailure::rejected: return "the server rejected the login with code " + shown();
        case SoupBinFailure::bad_packet: return "the server sent a packet of length 0";
        case SoupBinFailure::bad_login: return "the server's session or sequence number is malformed";
        case SoupBinFailure::unexpected: return "the server sent an unexpected packet of type " + shown();
        case SoupBinFailure::same_session: return "the server has no session after the one that has ended";
        case SoupBinFailure::other_session: return "the server is in another session than the requested one";
        case SoupBinFailure::went_back: return "the server has restarted the numbers of its session";
    }
    return "unknown";
}

SoupBinConnection::SoupBinConnection(const SoupBinOptions& options)
    : options_(options),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      session_(options.silence.count()),
      received_(kReceiveBytes),
      unsent_(kSendBytes) {
    if (!epoll_) throw SocketError(errno, "cannot watch the connection to " + options.server.to_string());
}

void SoupBinConnection::open(const soupbin::Session& session, std::uint64_t sequence) noexcept {
    drop();
    login_ = {.user = options_.user, .password = options_.password, .session = session, .sequence = sequence};
    begin_ = end_ = 0;
    unsent_bytes_ = 0;
    is_connected_ = false;
    const auto packet = session_.begin(login_);
    static_cast<void>(put(packet, {}));
    const int family = options_.server.family() == SocketAddress::Family::ipv6 ? AF_INET6 : AF_INET;
    socket_ = core::Descriptor{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket_) {
        session_.fail(SoupBinFailure::cannot_connect, errno);
        return drop();
    }
    detail::set_option(socket_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    if (options_.receive_buffer != 0)
        detail::set_option(socket_.get(), SOL_SOCKET, SO_RCVBUF, static_cast<int>(options_.receive_buffer));
    epoll_event wanted{.events = EPOLLIN | EPOLLOUT, .data = {}};
    watches_writable_ = true;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket_.get(), &wanted) != 0)
        session_.fail(SoupBinFailure::cannot_connect, errno);
    static_cast<void>(connect());
    if (is_over()) drop();
}

/// Starts or continues to connect. True once the connection exists; the login request is sent then.
bool SoupBinConnection::connect() noexcept {
    sockaddr_storage address{};
    const auto length = options_.server.to_kernel(address);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno != EISCONN) {
        if (errno != EINPROGRESS && errno != EALREADY && errno != EINTR)
            session_.fail(SoupBinFailure::cannot_connect, errno);
        return false;
    }
    is_connected_ = true;
    flush();
    return true;
}

/// Receives bytes behind those that were not read yet; returns their number.
std::size_t SoupBinConnection::receive() noexcept {
    if (!is_connected_ && !connect()) return 0;
    if (unsent_bytes_ != 0) flush();
    if (received_.size() - end_ < soupbin::kMaxPacketBytes) {
        std::memmove(received_.data(), received_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    }
    const auto got = ::recv(socket_.get(), received_.data() + end_, received_.size() - end_, 0);
    if (got > 0) {
        end_ += static_cast<std::size_t>(got);
        return static_cast<std::size_t>(got);
    }
    if (got == 0) {
        session_.fail(SoupBinFailure::closed);
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        session_.fail(SoupBinFailure::broken, errno);
    }
    return 0;
}

void SoupBinConnection::on_timer(std::int64_t now_ns) noexcept {
    if (!socket_) return;
    session_.on_timer(now_ns);
    if (failure() == SoupBinFailure::no_login && !is_connected_) session_.fail(SoupBinFailure::no_connection);
    if (failure() == SoupBinFailure::none && session_.needs_heartbeat(now_ns) && unsent_bytes_ == 0)
        static_cast<void>(put(soupbin::bare_packet(soupbin::kClientHeartbeat), {}));
    if (is_over()) drop();
}

bool SoupBinConnection::send(std::span<const std::byte> message) noexcept {
    if (!is_logged_in() || message.size() > soupbin::kMaxPayloadBytes) return false;
    std::array<std::byte, soupbin::kHeaderBytes> header{};
    soupbin::write_header(header.data(), soupbin::kUnsequenced, message.size());
    const bool sent = put(header, message);
    if (is_over()) drop();
    return sent;
}

void SoupBinConnection::close() noexcept {
    if (is_logged_in()) static_cast<void>(put(soupbin::bare_packet(soupbin::kLogout), {}));
    session_.fail(SoupBinFailure::none);
    socket_ = {};
    session_.close();
}

/// Queues a packet and sends what the kernel takes. False, with nothing queued, if there is no room.
bool SoupBinConnection::put(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
    if (unsent_.size() - unsent_bytes_ < header.size() + payload.size()) return false;
    for (const auto part : {header, payload}) {
        if (!part.empty()) std::memcpy(unsent_.data() + unsent_bytes_, part.data(), part.size());
        unsent_bytes_ += part.size();
    }
    session_.note_sent();
    if (is_connected_) flush();
    return true;
}

void SoupBinConnection::flush() noexcept {
    if (unsent_bytes_ != 0) {
        const auto sent = ::send(socket_.get(), unsent_.data(), unsent_bytes_, MSG_NOSIGNAL);
        if (sent > 0) {
            unsent_bytes_ -= static_cast<std::size_t>(sent);
            std::memmove(unsent_.data(), unsent_.data() + sent, unsent_bytes_);
        } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            session_.fail(SoupBinFailure::broken, errno);
        }
    }
    watch(unsent_bytes_ != 0);
}

void SoupBinConnection::watch(bool writable) noexcept {
    if (writable == std::exchange(watches_writable_, writable)) return;
    epoll_event wanted{.events = EPOLLIN | (writable ? EPOLLOUT : 0U), .data = {}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket_.get(), &wanted);
}

/// Closes the socket; the failure and the end of the session stay readable.
void SoupBinConnection::drop() noexcept {
    if (failure() != SoupBinFailure::none && session_.state() != SoupBinSession::State::closed &&
        session_.state() != SoupBinSession::State::ended)
        counters().failures.add();
    socket_ = {};
    if (!has_ended()) session_.close();
}

}  // namespace millpond::net
