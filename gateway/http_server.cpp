#include "gateway/http_server.hpp"

#include <utility>  // boost/asio/awaitable.hpp 1.74 uses std::exchange without it

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include <sys/socket.h>

namespace millpond::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMostClients = 64;
constexpr std::size_t kLongestHead = 8'192;

/// One connection; lives as long as an operation on it does.
class Client : public std::enable_shared_from_this<Client> {
public:
    Client(tcp::socket&& socket, const HttpServer::Pages& pages, std::size_t& clients)
        : stream_(std::move(socket)), pages_(pages), clients_(clients) {
        ++clients_;
    }
    ~Client() { --clients_; }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void read() {
        parser_.emplace();
        parser_->header_limit(kLongestHead);
        parser_->body_limit(0);
        stream_.expires_after(kPatience);
        http::async_read(stream_, buffer_, *parser_, beast::bind_front_handler(&Client::on_read, shared_from_this()));
    }

private:
    void on_read(beast::error_code error, std::size_t) {
        if (error) return;  // gone, silent or nonsense: the connection closes with this object
        answer();
        http::async_write(stream_, response_, beast::bind_front_handler(&Client::on_written, shared_from_this()));
    }

    void answer() {
        const auto& request = parser_->get();
        response_ = {};
        response_.version(request.version());
        response_.keep_alive(request.keep_alive());
        const auto target = request.target().to_string();
        if (request.method() != http::verb::get && request.method() != http::verb::head) {
            response_.result(http::status::method_not_allowed);
            response_.set(http::field::allow, "GET, HEAD");
        } else {
            auto page = pages_(target.substr(0, target.find('?')));
            const bool found = !page.type.empty();
            response_.result(!found      ? http::status::not_found
                             : page.good ? http::status::ok
                                         : http::status::service_unavailable);
            response_.set(http::field::content_type, found ? page.type : "text/plain");
            response_.body() = found ? std::move(page.body) : "not found\n";
        }
        response_.prepare_payload();
        if (request.method() == http::verb::head) response_.body().clear();
    }

    void on_written(beast::error_code error, std::size_t) {
        if (error) return;
        if (response_.keep_alive()) return read();
        static_cast<void>(stream_.socket().shutdown(tcp::socket::shutdown_send, error));
    }

    beast::tcp_stream stream_;
    const HttpServer::Pages& pages_;
    std::size_t& clients_;
    beast::flat_buffer buffer_{kLongestHead * 2};
    std::optional<http::request_parser<http::empty_body>> parser_;
    http::response<http::string_body> response_;
};

}  // namespace

class HttpServer::Listener {
public:
    Listener(const net::SocketAddress& listen, Pages pages) : pages_(std::move(pages)), acceptor_(context_) {
        sockaddr_storage address{};
        const auto length = listen.to_kernel(address);
        tcp::endpoint endpoint;
        endpoint.resize(length);
        std::memcpy(endpoint.data(), &address, length);
        try {
            acceptor_.open(endpoint.protocol());
            acceptor_.set_option(tcp::acceptor::reuse_address(true));
            acceptor_.bind(endpoint);
            acceptor_.listen();
        } catch (const boost::system::system_error& error) {
            throw std::system_error(error.code().value(), std::generic_category(),
                                    fmt::format("metrics: cannot listen on {}", listen.to_string()));
        }
        accept();
        thread_ = std::thread{[this] { context_.run(); }};
    }
    ~Listener() {
        context_.stop();
        thread_.join();
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] net::SocketAddress address() const {
        auto endpoint = acceptor_.local_endpoint();
        sockaddr_storage address{};
        std::memcpy(&address, endpoint.data(), endpoint.size());
        return net::SocketAddress::from_kernel(address);
    }

private:
    void accept() {
        acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
            if (!error && clients_ < kMostClients)
                std::make_shared<Client>(std::move(socket), pages_, clients_)->read();
            if (!error) return accept();
            pause_.expires_after(std::chrono::milliseconds{100});  // out of descriptors, most likely
            pause_.async_wait([this](beast::error_code) { accept(); });
        });
    }

    Pages pages_;
    std::size_t clients_{0};
    asio::io_context context_{1};
    tcp::acceptor acceptor_;
    asio::steady_timer pause_{context_};
    std::thread thread_;
};

HttpServer::HttpServer(const net::SocketAddress& listen, Pages pages)
    : listener_(std::make_unique<Listener>(listen, std::move(pages))) {}

HttpServer::~HttpServer() = default;

net::SocketAddress HttpServer::address() const { return listener_->address(); }

}  // namespace millpond::gateway
