#include "service/http/server.hpp"

#include <boost/asio/post.hpp>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <millpond/core/thread_name.hpp>

#include "service/http/listener.hpp"

namespace millpond::http {

struct Server::Running {
    Running(const Options& options, Pages pages)
        : listener(context, options, std::move(pages)), thread([this, name = options.name] {
              core::name_this_thread(name);
              context.run();
          }) {}
    ~Running() {
        context.stop();
        thread.join();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    boost::asio::io_context context{1};
    http::Listener listener;
    std::thread thread;
};

Server::Server(const Options& options, Pages pages) : running_(std::make_unique<Running>(options, std::move(pages))) {}

Server::~Server() = default;

void Server::renew(service::Token token, const tls::Context& tls) {
    std::promise<void> renewed;
    boost::asio::post(running_->context, [&] {
        running_->listener.renew(std::move(token), tls);
        renewed.set_value();
    });
    renewed.get_future().wait();
}

net::SocketAddress Server::address() const { return running_->listener.address(); }

}  // namespace millpond::http
