#include "service/http/server.hpp"

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <millpond/core/thread_name.hpp>

#include "service/http/listener.hpp"

namespace millpond::http {

struct Server::Running {
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

Server::Server(const std::string& name, const net::SocketAddress& listen, http::Pages pages, http::Acts acts)
    : running_(std::make_unique<Running>(name, listen, std::move(pages), std::move(acts))) {}

Server::~Server() = default;

net::SocketAddress Server::address() const { return running_->listener.address(); }

}  // namespace millpond::http
