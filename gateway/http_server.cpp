#include "gateway/http_server.hpp"

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <millpond/core/thread_name.hpp>

#include "gateway/http/listener.hpp"

namespace millpond::gateway {

struct HttpServer::Running {
    Running(const std::string& name, const net::SocketAddress& listen, http::Pages pages, http::Acts acts)
        : listener(context, {.name = name, .listen = listen, .acts = std::move(acts)}, std::move(pages)),
          thread([this, name] {
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

HttpServer::HttpServer(const std::string& name, const net::SocketAddress& listen, http::Pages pages, http::Acts acts)
    : running_(std::make_unique<Running>(name, listen, std::move(pages), std::move(acts))) {}

HttpServer::~HttpServer() = default;

net::SocketAddress HttpServer::address() const { return running_->listener.address(); }

}  // namespace millpond::gateway
