#include "service/http/stream.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/stream_traits.hpp>

#include <memory>
#include <utility>
#include <variant>

namespace millpond::http {

Stream::Stream(boost::asio::ip::tcp::socket&& socket, const service::TlsContext& tls) {
    if (!tls.on()) {
        layer_ = std::make_unique<std::variant<Tcp, Secure>>(std::in_place_type<Tcp>, std::move(socket));
        return;
    }
    boost::asio::ssl::context context{tls.share()};  // the connection keeps its own reference
    layer_ = std::make_unique<std::variant<Tcp, Secure>>(std::in_place_type<Secure>, std::move(socket), context);
}

Stream::Tcp& Stream::tcp() noexcept {
    return std::visit([](auto& layer) -> Tcp& { return boost::beast::get_lowest_layer(layer); }, *layer_);
}

}  // namespace millpond::http
