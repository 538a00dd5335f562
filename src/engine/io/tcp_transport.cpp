#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

#include "src/engine/io/transport.hpp"

namespace millpond::engine {
namespace {

bool would_block() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

class TcpTransport final : public Transport {
public:
    explicit TcpTransport(core::Descriptor socket) noexcept : socket_(std::move(socket)) {}

    int descriptor() const noexcept override { return socket_.get(); }

    Moved receive(std::span<std::byte> into) noexcept override {
        const auto got = ::recv(socket_.get(), into.data(), into.size(), 0);
        if (got > 0) return {static_cast<std::size_t>(got)};
        return {0, got == 0 || !would_block()};
    }

    Moved send(std::span<const std::string_view> pieces) noexcept override {
        ssize_t sent = 0;
        if (pieces.size() == 1) {
            sent = ::send(socket_.get(), pieces[0].data(), pieces[0].size(), MSG_NOSIGNAL);
        } else {
            std::array<iovec, kMaxPieces> vectors;
            const auto count = std::min(pieces.size(), vectors.size());
            for (std::size_t i = 0; i < count; ++i) {
                vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
            }
            msghdr message{};
            message.msg_iov = vectors.data();
            message.msg_iovlen = count;
            sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
        }
        if (sent >= 0) return {static_cast<std::size_t>(sent)};
        return {0, !would_block()};
    }

    void shut_down() noexcept override { ::shutdown(socket_.get(), SHUT_WR); }

private:
    static constexpr std::size_t kMaxPieces = 64;
    core::Descriptor socket_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(core::Descriptor socket) {
    return std::make_unique<TcpTransport>(std::move(socket));
}

}  // namespace millpond::engine
