#include "service/http/stream.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>

#include <memory>
#include <utility>
#include <variant>

namespace millpond::http {
namespace {

using Secure = boost::beast::ssl_stream<Stream::Tcp>;

}  // namespace

struct Stream::Layer : std::variant<Tcp, Secure> {
    using std::variant<Tcp, Secure>::variant;
};

Stream::Stream(boost::asio::ip::tcp::socket&& socket, const service::TlsContext& tls) {
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

void Stream::read_some(boost::asio::mutable_buffer buffer, Moved&& moved) {
    std::visit([&](auto& layer) { layer.async_read_some(buffer, std::move(moved)); }, *layer_);
}

void Stream::write_some(const ConstBuffers& buffers, Moved&& moved) {
    std::visit([&](auto& layer) { layer.async_write_some(buffers, std::move(moved)); }, *layer_);
}

void Stream::async_teardown(boost::beast::role_type role, Done&& done) {
    boost::beast::websocket::async_teardown(role, tcp().socket(), std::move(done));
}

}  // namespace millpond::http
