#pragma once

#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>

#include <memory>
#include <variant>

#include "service/tls.hpp"

namespace millpond::http {

/// A connection, plain or with TLS, in the shape that Beast's operations and WebSockets stand on.
///
/// Threads: the one that runs its context.
class Stream {
public:
    using Tcp = boost::beast::tcp_stream;
    using executor_type = Tcp::executor_type;

    /// tls: not on() is plain.
    Stream(boost::asio::ip::tcp::socket&& socket, const service::TlsContext& tls);

    [[nodiscard]] executor_type get_executor() noexcept { return tcp().get_executor(); }
    /// What is below: the socket, and how long an operation may take.
    [[nodiscard]] Tcp& tcp() noexcept;
    [[nodiscard]] bool is_secure() const noexcept { return std::holds_alternative<Secure>(*layer_); }

    /// Only where is_secure(). Calls handler(error).
    template <class Handler>
    void async_handshake(Handler&& handler) {
        std::get<Secure>(*layer_).async_handshake(boost::asio::ssl::stream_base::server,
                                                  std::forward<Handler>(handler));
    }
    template <class Buffers, class Handler>
    void async_read_some(const Buffers& buffers, Handler&& handler) {
        std::visit([&](auto& layer) { layer.async_read_some(buffers, std::forward<Handler>(handler)); }, *layer_);
    }
    template <class Buffers, class Handler>
    void async_write_some(const Buffers& buffers, Handler&& handler) {
        std::visit([&](auto& layer) { layer.async_write_some(buffers, std::forward<Handler>(handler)); }, *layer_);
    }

private:
    using Secure = boost::beast::ssl_stream<Tcp>;

    std::unique_ptr<std::variant<Tcp, Secure>> layer_;  // neither can be moved while an operation is pending
};

/// Beast finds these two by their names: a WebSocket ends by them. Its close frames have said that nothing is missing,
/// so TLS need not say it again.
inline void beast_close_socket(Stream& stream) { stream.tcp().close(); }

template <class Handler>
void async_teardown(boost::beast::role_type role, Stream& stream, Handler&& handler) {
    using boost::beast::websocket::async_teardown;
    async_teardown(role, stream.tcp().socket(), std::forward<Handler>(handler));
}

}  // namespace millpond::http
