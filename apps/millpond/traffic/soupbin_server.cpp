#include "apps/millpond/traffic/soupbin_server.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <millpond/core/clock.hpp>

namespace millpond::traffic {
namespace {

namespace soupbin = net::soupbin;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kSilenceNs = 15 * kSecondNs;  // section 1.3: typically 15 seconds
constexpr std::int64_t kLoginNs = 30 * kSecondNs;    // section 2.3.1: typically 30 seconds
constexpr std::size_t kFillBytes = std::size_t{256} * 1'024;
constexpr int kBacklog = 16;
/// Wait for new messages of a stream while a client has all of them.
constexpr int kNewMessageMs = 1;

}  // namespace

SoupBinServer::SoupBinServer(const net::SocketAddress& listen, const std::string& session, Open open)
    : session_(session), open_(std::move(open)) {
    if (session.size() > soupbin::kSessionBytes)
        throw std::invalid_argument("session '" + session + "' is longer than 10 characters");
    sockaddr_storage address{};
    auto length = listen.to_kernel(address);
    socket_ = core::Descriptor{::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const int on = 1;
    if (socket_) ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!socket_ || ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
        ::listen(socket_.get(), kBacklog) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot serve SoupBinTCP at " + listen.to_string());
    length = sizeof address;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    address_ = net::SocketAddress::from_kernel(address);
}

void SoupBinServer::poll(int timeout_ms) {
    std::vector<pollfd> waits{{socket_.get(), POLLIN, 0}};
    for (const auto& client : clients_) {
        const bool has_unsent = client->unsent_bytes() != 0;
        waits.push_back({client->socket.get(), static_cast<short>(POLLIN | (has_unsent ? POLLOUT : 0)), 0});
        if (client->stream && !has_unsent) timeout_ms = std::min(timeout_ms, kNewMessageMs);
    }
    ::poll(waits.data(), waits.size(), timeout_ms);
    const auto now = core::monotonic_nanos();
    if (waits.front().revents != 0) accept(now);
    std::erase_if(clients_, [&](const auto& client) { return !serve(*client, now); });
}

void SoupBinServer::accept(std::int64_t now_ns) {
    for (;;) {
        core::Descriptor socket{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        if (!socket) return;
        if (clients_.size() == kMaxClients) continue;
        auto client = std::make_unique<Client>();
        client->socket = std::move(socket);
        client->heard_ns = client->sent_ns = now_ns;
        clients_.push_back(std::move(client));
    }
}

bool SoupBinServer::serve(Client& client, std::int64_t now_ns) {
    if (!receive(client, now_ns)) return false;
    if (now_ns - client.heard_ns > (client.stream ? kSilenceNs : kLoginNs)) return false;
    if (client.stream && !client.is_over) fill(client, now_ns);
    if (!flush(client, now_ns)) return false;
    if (!client.is_over || client.unsent_bytes() != 0) return true;
    // Closing with unread bytes of the client would make the kernel discard what was sent.
    ::shutdown(client.socket.get(), SHUT_WR);
    return now_ns - client.sent_ns < kSecondNs;
}

bool SoupBinServer::receive(Client& client, std::int64_t now_ns) {
    std::array<std::byte, 4'096> bytes;
    const auto got = ::recv(client.socket.get(), bytes.data(), bytes.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (got == 0) return false;
    client.heard_ns = now_ns;
    client.received.insert(client.received.end(), bytes.begin(), bytes.begin() + got);
    std::size_t read = 0;
    for (;;) {
        const auto packet = soupbin::next_packet(std::span{client.received}.subspan(read));
        if (!packet) {
            if (packet.error() == soupbin::PacketError::empty) return false;
            break;
        }
        read += packet->bytes;
        if (packet->type == soupbin::kLogout) return false;
        if (packet->type == soupbin::kLoginRequest && !client.stream) log_in(client, packet->payload);
    }
    client.received.erase(client.received.begin(), client.received.begin() + static_cast<std::ptrdiff_t>(read));
    return true;
}

void SoupBinServer::log_in(Client& client, std::span<const std::byte> payload) {
    const auto login = soupbin::read_login_request(payload);
    if (!login || (!login->session.empty() && login->session.view() != session_)) {
        const std::array<std::byte, 1> code{std::byte{soupbin::kSessionNotAvailable}};
        put(client, soupbin::kLoginRejected, code);
        client.is_over = true;
        return;
    }
    client.stream = open_();
    const auto available = client.stream->available();
    const auto newest = std::max<std::uint64_t>(available, 1);
    client.next = login->sequence == 0 ? newest : std::min(login->sequence, available + 1);
    std::array<std::byte, soupbin::kLoginAcceptedBytes> packet;
    write(soupbin::LoginAccepted{.session = soupbin::Session{session_}, .sequence = client.next}, packet);
    client.unsent.insert(client.unsent.end(), packet.begin(), packet.end());
    logins_.fetch_add(1, std::memory_order_relaxed);
}

/// Puts messages, the end of the session or a heartbeat into the client's buffer.
void SoupBinServer::fill(Client& client, std::int64_t now_ns) {
    const bool has_ended = client.stream->has_ended();  // before `available`
    const auto available = client.stream->available();
    for (; client.next <= available && client.unsent_bytes() < kFillBytes; ++client.next) {
        put(client, soupbin::kSequenced, client.stream->message(client.next));
        sent_.fetch_add(1, std::memory_order_relaxed);
    }
    if (client.next > available && has_ended) {
        put(client, soupbin::kEndOfSession, {});
        client.is_over = true;
    } else if (client.unsent_bytes() == 0 && now_ns - client.sent_ns >= kSecondNs) {
        put(client, soupbin::kServerHeartbeat, {});
    }
}

bool SoupBinServer::flush(Client& client, std::int64_t now_ns) {
    if (client.unsent_bytes() == 0) return true;
    const auto sent =
        ::send(client.socket.get(), client.unsent.data() + client.unsent_begin, client.unsent_bytes(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    client.sent_ns = now_ns;
    client.unsent_begin += static_cast<std::size_t>(sent);
    if (client.unsent_bytes() == 0) {
        client.unsent.clear();
        client.unsent_begin = 0;
    }
    return true;
}

void SoupBinServer::put(Client& client, char type, std::span<const std::byte> payload) {
    if (client.unsent_begin > kFillBytes) {
        client.unsent.erase(client.unsent.begin(),
                            client.unsent.begin() + static_cast<std::ptrdiff_t>(client.unsent_begin));
        client.unsent_begin = 0;
    }
    std::array<std::byte, soupbin::kHeaderBytes> header;
    soupbin::write_header(header.data(), type, payload.size());
    client.unsent.insert(client.unsent.end(), header.begin(), header.end());
    client.unsent.insert(client.unsent.end(), payload.begin(), payload.end());
}

}  // namespace millpond::traffic
