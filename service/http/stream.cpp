#include "service/http/stream.hpp"

#include <fmt/format.h>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include <sys/socket.h>
#include <sys/uio.h>

#include <millpond/tls/failure.hpp>

namespace millpond::http {
namespace {

using Secure = boost::beast::ssl_stream<Stream::Tcp>;

}  // namespace

struct Stream::Layer : std::variant<Tcp, Secure> {
    using std::variant<Tcp, Secure>::variant;

    void write(const ConstBuffers& buffers, Moved&& moved) {
        if (!rest.empty()) {
            *waiting = [this, buffers, moved = std::move(moved)]() mutable { write(buffers, std::move(moved)); };
            return;
        }
        writing = true;
        auto written = [this, moved = std::move(moved)](boost::beast::error_code error, std::size_t bytes) mutable {
            writing = false;
            moved(error, bytes);
        };
        std::visit([&](auto& layer) { layer.async_write_some(buffers, std::move(written)); },
                   static_cast<std::variant<Tcp, Secure>&>(*this));
    }

    void send_rest(Done&& done) {
        auto next = std::make_unique<std::move_only_function<void()>>();
        waiting = next.get();
        boost::asio::async_write(std::get<Tcp>(*this), boost::asio::buffer(rest),
                                 [this, next = std::move(next), done = std::move(done)](boost::beast::error_code error,
                                                                                        std::size_t) mutable {
                                     rest.clear();
                                     if (*next) (*next)();
                                     done(error);
                                 });
    }

    bool writing{false};  // a write is pending
    std::string rest;     // bytes that send_now() could not send
    // A write that was requested while there is a rest. The rest's operation owns it, so that both end together.
    std::move_only_function<void()>* waiting{nullptr};
};

Stream::Stream(boost::asio::ip::tcp::socket&& socket, const boost::asio::ip::tcp::endpoint& peer,
               const tls::Context& tls)
    : peer_(fmt::format("{}:{}", peer.address().to_string(), peer.port())) {
    if (!tls.on()) {
        layer_ = std::make_unique<Layer>(std::in_place_type<Tcp>, std::move(socket));
        return;
    }
    boost::asio::ssl::context context{tls.share()};  // the connection keeps its own reference
    layer_ = std::make_unique<Layer>(std::in_place_type<Secure>, std::move(socket), context);
}

Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

Stream::Tcp& Stream::tcp() noexcept {
    return std::visit([](auto& layer) -> Tcp& { return boost::beast::get_lowest_layer(layer); }, *layer_);
}

bool Stream::is_secure() const noexcept { return std::holds_alternative<Secure>(*layer_); }

void Stream::async_handshake(Done&& done) {
    std::get<Secure>(*layer_).async_handshake(boost::asio::ssl::stream_base::server, std::move(done));
}

std::string_view Stream::handshake_failure(boost::beast::error_code error) const {
    if (error == boost::beast::error::timeout) return tls::kTimedOut;
    const bool is_ours = error.category() == boost::asio::error::get_ssl_category();
    return tls::failure_reason(*std::get<Secure>(*layer_).native_handle(),
                               is_ours ? static_cast<unsigned>(error.value()) : 0U);
}

void Stream::read_some(boost::asio::mutable_buffer buffer, Moved&& moved) {
    std::visit([&](auto& layer) { layer.async_read_some(buffer, std::move(moved)); }, *layer_);
}

void Stream::write_some(const ConstBuffers& buffers, Moved&& moved) { layer_->write(buffers, std::move(moved)); }

bool Stream::can_send_now() const noexcept { return !is_secure() && !layer_->writing && layer_->rest.empty(); }

bool Stream::send_now(const ConstBuffers& buffers, Done&& done) {
    std::array<iovec, std::tuple_size_v<ConstBuffers>> parts;
    std::ranges::transform(buffers, parts.begin(), [](const boost::asio::const_buffer& buffer) {
        return iovec{const_cast<void*>(buffer.data()), buffer.size()};
    });
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const auto sent = sendmsg(tcp().socket().native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    auto skip = sent > 0 ? static_cast<std::size_t>(sent) : 0;
    for (const auto& buffer : buffers) {
        const auto gone = std::min(skip, buffer.size());
        skip -= gone;
        layer_->rest.append(static_cast<const char*>(buffer.data()) + gone, buffer.size() - gone);
    }
    if (layer_->rest.empty()) return true;
    layer_->send_rest(std::move(done));
    return false;
}

void Stream::async_teardown(boost::beast::role_type role, Done&& done) {
    boost::beast::websocket::async_teardown(role, tcp().socket(), std::move(done));
}

}  // namespace millpond::http
