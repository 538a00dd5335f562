#include "gateway/sinks/tcp/pending_connection.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <sys/epoll.h>
#include <sys/uio.h>

#include "gateway/json_lines/request.hpp"
#include "gateway/json_lines/subscriber.hpp"

namespace millpond::gateway::tcp {
namespace {

constexpr std::int64_t kPatienceNs = 5'000'000'000;
constexpr std::int64_t kTryEveryNs = 20'000'000;
constexpr std::size_t kMaxLineBytes = 4'096;

}  // namespace

PendingConnection::PendingConnection(const service::Token& token, int epoll, Stream stream, std::string peer,
                                     std::int64_t now_ns)
    : token_(token), epoll_(epoll), stream_(std::move(stream)), peer_(std::move(peer)), since_ns_(now_ns) {
    watch(epoll_, EPOLL_CTL_ADD, stream_.socket(), EPOLLIN);
}

PendingConnection::Verdict PendingConnection::refuse(std::string_view reason, bool send_reason) {
    reason_ = reason;
    if (send_reason) {
        auto line = json_lines::text_line("bye", reason);
        const iovec part{line.data(), line.size()};
        // A client whose socket is full gets no reason.
        if (stream_.send(&part, 1) > 0) static_cast<void>(stream_.flush());
    }
    return Verdict::refused;
}

PendingConnection::Verdict PendingConnection::refuse_handshake() {
    return refuse(fmt::format("{}: {}", tls::kHandshakeFailed, stream_.failure()), false);
}

PendingConnection::Verdict PendingConnection::poll(std::int64_t now_ns) {
    if (now_ns - since_ns_ > kPatienceNs) {
        return stream_.is_open() ? refuse("no token in time", false) : refuse_handshake();
    }
    // Retries regularly: a handshake may wait for a writable socket, which is not watched.
    if (!broken_ && !std::exchange(readable_, false) && !stream_.has_unread() && now_ns - tried_ns_ < kTryEveryNs) {
        return Verdict::waits;
    }
    tried_ns_ = now_ns;
    const auto flow = stream_.shake_hands();
    if (flow == Flow::broken) return refuse_handshake();
    if (broken_) return refuse("the connection is gone", false);
    if (flow == Flow::blocked) return Verdict::waits;
    return token_.required() ? check_token() : Verdict::admitted;
}

PendingConnection::Verdict PendingConnection::check_token() {
    std::array<char, kMaxLineBytes> buffer;
    const auto got = stream_.receive(buffer.data(), buffer.size());
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return refuse("the connection is gone", false);
    if (got > 0) input_.append(buffer.data(), static_cast<std::size_t>(got));
    const auto end = input_.find('\n');
    if (end == std::string::npos) {
        return input_.size() > kMaxLineBytes ? refuse("the token is too long", true) : Verdict::waits;
    }
    bool is_valid = false;
    try {
        const auto request = json_lines::parse_request(std::string_view{input_}.substr(0, end));
        is_valid = request.token && token_.admits(*request.token);
    } catch (const json_lines::RequestError&) {
        is_valid = false;
    }
    if (!is_valid) return refuse(R"(a token is required: {"token":"..."} as the first line)", true);
    input_.erase(0, end + 1);
    return Verdict::admitted;
}

std::pair<Stream, std::string> PendingConnection::release() {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, stream_.socket(), nullptr);
    return {std::move(stream_), std::move(input_)};
}

}  // namespace millpond::gateway::tcp
