#include "service/http/listener.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <sys/socket.h>

#include "service/http/session.hpp"

namespace millpond::http {
namespace {

using tcp = boost::asio::ip::tcp;

tcp::endpoint endpoint_of(const net::SocketAddress& listen) {
    sockaddr_storage address{};
    const auto length = listen.to_kernel(address);
    tcp::endpoint endpoint;
    endpoint.resize(length);
    std::memcpy(endpoint.data(), &address, length);
    return endpoint;
}

}  // namespace

Listener::Listener(boost::asio::io_context& context, Options options, Pages pages, Upgrade upgrade)
    : options_(std::move(options)),
      pages_(std::move(pages)),
      upgrade_(std::move(upgrade)),
      access_(options_.token, endpoint_of(options_.listen).address().is_loopback()),
      parts_(context),
      acceptor_(context),
      pause_(context) {
    const auto endpoint = endpoint_of(options_.listen);
    try {
        acceptor_.open(endpoint.protocol());
        acceptor_.set_option(tcp::acceptor::reuse_address(true));
        acceptor_.bind(endpoint);
        acceptor_.listen();
    } catch (const boost::system::system_error& error) {
        throw std::system_error(error.code().value(), std::generic_category(),
                                fmt::format("{}: cannot listen on {}", options_.name, options_.listen.to_string()));
    }
    accept();
}

Listener::~Listener() = default;

net::SocketAddress Listener::address() const {
    auto endpoint = acceptor_.local_endpoint();
    sockaddr_storage address{};
    std::memcpy(&address, endpoint.data(), endpoint.size());
    return net::SocketAddress::from_kernel(address);
}

void Listener::renew(service::Token token, const tls::Context& tls) {
    access_ = Access{std::move(token), endpoint_of(options_.listen).address().is_loopback()};
    options_.tls = tls;
}

void Listener::close() {
    boost::beast::error_code ignored;
    static_cast<void>(acceptor_.close(ignored));
    pause_.cancel();
}

void Listener::accept() {
    acceptor_.async_accept(peer_, [this](boost::beast::error_code error, tcp::socket socket) {
        if (!acceptor_.is_open()) return;
        if (!error) {
            start(std::move(socket));
            return accept();
        }
        pause_.expires_after(std::chrono::milliseconds{100});  // out of descriptors, most likely
        pause_.async_wait([this](boost::beast::error_code) {
            if (acceptor_.is_open()) accept();
        });
    });
}

void Listener::start(tcp::socket socket) {
    std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
    if (sessions_.size() >= options_.max_connections) {
        if (const auto oldest = sessions_.front().lock()) oldest->close();
        sessions_.pop_front();
    }
    const auto session = std::make_shared<Session>(Stream{std::move(socket), peer_, options_.tls}, options_, pages_,
                                                   upgrade_, access_, parts_);
    sessions_.push_back(session);
    session->begin();
}

}  // namespace millpond::http
