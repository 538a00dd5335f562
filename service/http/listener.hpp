#pragma once

#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

#include <deque>
#include <functional>
#include <memory>

#include <millpond/net/socket_address.hpp>
#include <millpond/tls/context.hpp>

#include "service/http/access.hpp"
#include "service/http/options.hpp"
#include "service/http/page.hpp"
#include "service/http/page_parts.hpp"
#include "service/http/stream.hpp"
#include "service/token.hpp"

namespace millpond::http {

class Session;

/// Serves pages over HTTP/1.1 to GET and HEAD requests. Slow, silent and malformed connections are closed after five
/// seconds. Beyond Options::max_connections the oldest connection is closed.
///
/// Threads: the one that runs the io_context.
/// Memory:  bounded: at most Options::max_connections, each with a head of 8 KiB and one page.
class Listener {
public:
    using Head = boost::beast::http::request<boost::beast::http::empty_body>;
    /// Takes over the connection of a WebSocket request, or returns false and leaves both arguments unchanged.
    using Upgrade = std::function<bool(Stream& stream, Head& head)>;

    /// Starts to listen. upgrade: empty: no WebSockets. Throws std::system_error that has the name and the address.
    Listener(boost::asio::io_context& context, Options options, Pages pages, Upgrade upgrade = {});
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// The address, with the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const;
    /// Replaces the token, for later requests, and the certificates, for later connections. tls: on() if Options::tls
    /// was.
    void renew(service::Token token, const tls::Context& tls);
    /// Stops accepting connections.
    void close();

private:
    void accept();
    void start(boost::asio::ip::tcp::socket socket);

    Options options_;
    Pages pages_;
    Upgrade upgrade_;
    Access access_;
    PageParts parts_;
    boost::asio::ip::tcp::acceptor acceptor_;
    boost::asio::ip::tcp::endpoint peer_;  // of the connection that is accepted next
    boost::asio::steady_timer pause_;
    std::deque<std::weak_ptr<Session>> sessions_;  // the oldest first
};

}  // namespace millpond::http
