#include "gateway/sinks/tcp/stream.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <new>
#include <utility>

#include <sys/socket.h>

namespace millpond::gateway::tcp {
namespace {

constexpr std::size_t kMaxRecordBytes = 16'384;  // RFC 8446 5.1

}  // namespace

void Stream::FreeSsl::operator()(ssl_st* ssl) const noexcept { SSL_free(ssl); }

Stream::Stream(core::Descriptor socket, const tls::Context& tls) : socket_(std::move(socket)) {
    if (!tls.on()) return;
    ssl_.reset(SSL_new(tls.get()));
    if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), socket_.get()) != 1) throw std::bad_alloc{};
    SSL_set_accept_state(ssl_.get());
    record_.reserve(kMaxRecordBytes);
}

Flow Stream::flow_of(int result) const noexcept {
    const int error = SSL_get_error(ssl_.get(), result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? Flow::blocked : Flow::broken;
}

bool Stream::is_open() const noexcept { return ssl_ == nullptr || SSL_is_init_finished(ssl_.get()) == 1; }

Flow Stream::shake_hands() {
    if (is_open()) return Flow::idle;
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) return Flow::idle;
    const auto flow = flow_of(result);
    if (flow == Flow::broken) failure_ = tls::failure_reason(*ssl_, ERR_peek_error());
    return flow;
}

Flow Stream::flush() {
    while (record_sent_ < record_.size()) {
        ERR_clear_error();
        const int sent = SSL_write(ssl_.get(), &record_[record_sent_], static_cast<int>(record_.size() - record_sent_));
        if (sent <= 0) return flow_of(sent);
        record_sent_ += static_cast<std::size_t>(sent);
    }
    record_.clear();
    record_sent_ = 0;
    return Flow::idle;
}

ssize_t Stream::send(const iovec* parts, std::size_t count) {
    if (ssl_ == nullptr) {
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(parts);
        message.msg_iovlen = count;
        ssize_t sent = 0;
        do sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        while (sent < 0 && errno == EINTR);
        return sent;
    }
    if (const auto flow = flush(); flow != Flow::idle) {
        errno = flow == Flow::blocked ? EAGAIN : EPIPE;
        return -1;
    }
    for (std::size_t i = 0; i < count && record_.size() < kMaxRecordBytes; ++i) {
        const auto free = kMaxRecordBytes - record_.size();
        record_.append(static_cast<const char*>(parts[i].iov_base), std::min(parts[i].iov_len, free));
    }
    const auto accepted = static_cast<ssize_t>(record_.size());
    if (flush() != Flow::broken) return accepted;
    errno = EPIPE;
    return -1;
}

ssize_t Stream::receive(char* into, std::size_t max_bytes) {
    if (ssl_ == nullptr) return recv(socket_.get(), into, max_bytes, MSG_DONTWAIT);
    ERR_clear_error();
    const int got = SSL_read(ssl_.get(), into, static_cast<int>(max_bytes));
    if (got > 0) return got;
    if (SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN) return 0;
    errno = flow_of(got) == Flow::blocked ? EAGAIN : EPIPE;
    return -1;
}

bool Stream::has_unread() const noexcept { return ssl_ != nullptr && SSL_pending(ssl_.get()) > 0; }

}  // namespace millpond::gateway::tcp
