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
#include <string>
#include <string_view>

#include <millpond/tls/context.hpp>

namespace millpond::http {

/// A plain or TLS connection with the interface of an asynchronous stream, for Beast's operations and WebSockets. Types
/// of buffers and handlers below it are always the same, so both kinds of connection are compiled once.
///
/// Threads: the one that runs its io_context.
class Stream {
public:
    using Tcp = boost::beast::tcp_stream;
    using executor_type = Tcp::executor_type;
    using Done = std::move_only_function<void(boost::beast::error_code)>;
    using Moved = std::move_only_function<void(boost::beast::error_code, std::size_t)>;

    /// tls: if not on(), the connection is plain.
    Stream(boost::asio::ip::tcp::socket&& socket, const boost::asio::ip::tcp::endpoint& peer, const tls::Context& tls);
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    ~Stream();

    [[nodiscard]] executor_type get_executor() noexcept { return tcp().get_executor(); }
    /// The underlying socket, with the timeout of operations.
    [[nodiscard]] Tcp& tcp() noexcept;
    [[nodiscard]] bool is_secure() const noexcept;
    /// The peer's address, also after the end of the connection.
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }

    /// Requires is_secure().
    void async_handshake(Done&& done);
    /// Why async_handshake failed with `error`.
    [[nodiscard]] std::string_view handshake_failure(boost::beast::error_code error) const;
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
    // A WebSocket frame has two buffers, header and payload. Further buffers are left for the next write.
    using ConstBuffers = std::array<boost::asio::const_buffer, 4>;

    /// Whether send_now() may be called: a plain connection without a pending write.
    [[nodiscard]] bool can_send_now() const noexcept;
    /// Writes `buffers` to the socket at once, without an asynchronous operation. Returns true if all bytes were
    /// written. Otherwise the rest is copied and written before the bytes of any later write, and then `done` is
    /// called, also if the connection is broken.
    [[nodiscard]] bool send_now(const ConstBuffers& buffers, Done&& done);
    /// Closes the connection after the peer has closed its side.
    void async_teardown(boost::beast::role_type role, Done&& done);

private:
    struct Layer;

    void read_some(boost::asio::mutable_buffer buffer, Moved&& moved);
    void write_some(const ConstBuffers& buffers, Moved&& moved);

    std::string peer_;
    std::unique_ptr<Layer> layer_;  // cannot be moved while an operation is pending
};

/// Called by Beast to end a WebSocket. Its close frames prove that the data is complete, so TLS need not send its own
/// notification.
inline void beast_close_socket(Stream& stream) { stream.tcp().close(); }

template <class Handler>
void async_teardown(boost::beast::role_type role, Stream& stream, Handler&& handler) {
    stream.async_teardown(role, std::forward<Handler>(handler));
}

}  // namespace millpond::http
