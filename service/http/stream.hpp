#pragma once

#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include "service/tls.hpp"

namespace millpond::http {

/// A connection, plain or with TLS, in the shape that Beast's operations and WebSockets stand on. Below it the types of
/// buffers and handlers are always the same, so both kinds of connection are compiled once.
///
/// Threads: the one that runs its context.
class Stream {
public:
    using Tcp = boost::beast::tcp_stream;
    using executor_type = Tcp::executor_type;
    using Done = std::move_only_function<void(boost::beast::error_code)>;
    using Moved = std::move_only_function<void(boost::beast::error_code, std::size_t)>;

    /// tls: not on() is plain.
    Stream(boost::asio::ip::tcp::socket&& socket, const service::TlsContext& tls);
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    ~Stream();

    [[nodiscard]] executor_type get_executor() noexcept { return tcp().get_executor(); }
    /// What is below: the socket, and how long an operation may take.
    [[nodiscard]] Tcp& tcp() noexcept;
    [[nodiscard]] bool is_secure() const noexcept;

    /// Only where is_secure().
    void async_handshake(Done&& done);
    template <class Buffers, class Handler>
    void async_read_some(const Buffers& buffers, Handler&& handler) {
        boost::asio::mutable_buffer first;
        for (auto at = boost::asio::buffer_sequence_begin(buffers);
             first.size() == 0 && at != boost::asio::buffer_sequence_end(buffers); ++at) {
            first = *at;
        }
        read_some(first, std::forward<Handler>(handler));
    }
    template <class Buffers, class Handler>
    void async_write_some(const Buffers& buffers, Handler&& handler) {
        ConstBuffers first;
        auto to = first.begin();
        for (auto at = boost::asio::buffer_sequence_begin(buffers);
             to != first.end() && at != boost::asio::buffer_sequence_end(buffers); ++at) {
            const boost::asio::const_buffer buffer{*at};
            if (buffer.size() != 0) *to++ = buffer;
        }
        write_some(first, std::forward<Handler>(handler));
    }
    // A frame of a WebSocket has two, its head and its text; what more there is the next write takes.
    using ConstBuffers = std::array<boost::asio::const_buffer, 4>;

    /// Whether send_now() may be called: a plain connection without a pending write.
    [[nodiscard]] bool can_send_now() const noexcept;
    /// Sends `buffers` without an operation for what the socket takes at once. True when that was all. Otherwise the
    /// rest is copied and follows, before the bytes of any later write, and then `done` is called. A connection that is
    /// broken also leaves all for the rest.
    [[nodiscard]] bool send_now(const ConstBuffers& buffers, Done&& done);
    /// Closes the socket in turn with the peer.
    void async_teardown(boost::beast::role_type role, Done&& done);

private:
    struct Layer;

    void read_some(boost::asio::mutable_buffer buffer, Moved&& moved);
    void write_some(const ConstBuffers& buffers, Moved&& moved);

    std::unique_ptr<Layer> layer_;  // cannot be moved while an operation is pending
};

/// Beast finds these two by their names: a WebSocket ends by them. Its close frames have said that nothing is missing,
/// so TLS need not say it again.
inline void beast_close_socket(Stream& stream) { stream.tcp().close(); }

template <class Handler>
void async_teardown(boost::beast::role_type role, Stream& stream, Handler&& handler) {
    stream.async_teardown(role, std::forward<Handler>(handler));
}

}  // namespace millpond::http
