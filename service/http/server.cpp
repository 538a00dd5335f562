#include "service/http/server.hpp"

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <millpond/core/thread_name.hpp>

#include "service/http/listener.hpp"

namespace millpond::http {

struct Server::Running {
    Running(const Options& options, Pages pages)
        : listener(context,
                   {.name = options.name,
                    .listen = options.listen,
                    .token = options.token,
                    .tls = options.tls,
                    .is_open = options.is_open,
                    .acts = options.acts,
                    .upgrade = {}},
                   std::move(pages)),
          thread([this, name = options.name] {
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

net::SocketAddress Server::address() const { return running_->listener.address(); }

}  // namespace millpond::http
