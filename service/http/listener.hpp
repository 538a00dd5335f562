#pragma once

#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <millpond/net/socket_address.hpp>

#include "service/http/access.hpp"
#include "service/http/page.hpp"
#include "service/http/stream.hpp"
#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::http {

class Session;

/// Serves pages over HTTP/1.1 to GET and HEAD requests. A connection that is slow, silent or talks nonsense is dropped
/// after five seconds and disturbs no other; when there are too many, the oldest one goes.
///
/// Threads: the one that runs the context.
/// Memory:  bounded: at most Options::max_connections, each with a head of 8 KiB and one page.
class Listener {
public:
    using Head = boost::beast::http::request<boost::beast::http::empty_body>;
    /// Takes over a connection whose client asks for a WebSocket, or returns false and leaves both as they were.
    using Upgrade = std::function<bool(Stream& stream, Head& head)>;

    struct Options {
        std::string name{};  ///< For error messages.
        net::SocketAddress listen{};
        service::Token token{};
        service::TlsContext tls{};  ///< Not on(): plain HTTP.
        std::size_t max_connections{64};
        std::function<bool(std::string_view path)> is_open{};  ///< Whether a page needs no token; none: no page.
        Acts acts{};                                           ///< None: GET and HEAD only.
        Upgrade upgrade{};                                     ///< None: such requests are answered like others.
    };

    /// Listens at once. Throws std::system_error that names what listens and the address.
    Listener(boost::asio::io_context& context, Options options, Pages pages);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// With the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const;
    /// Takes no further connection.
    void close();

private:
    void accept();
    void welcome(boost::asio::ip::tcp::socket socket);

    Options options_;
    Pages pages_;
    Access access_;
    boost::asio::ip::tcp::acceptor acceptor_;
    boost::asio::steady_timer pause_;
    std::deque<std::weak_ptr<Session>> sessions_;  // the oldest first
};

}  // namespace millpond::http
