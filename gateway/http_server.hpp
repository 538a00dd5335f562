#pragma once

#include <memory>
#include <string>

#include <millpond/net/socket_address.hpp>

#include "gateway/http/page.hpp"

namespace millpond::gateway {

/// Serves pages on a thread of its own, as http/listener.hpp says.
///
/// Threads: pages are made on the server's thread.
class HttpServer {
public:
    /// Listens at once; `name` stands for it in errors. Throws std::system_error that names the address.
    HttpServer(const std::string& name, const net::SocketAddress& listen, http::Pages pages, http::Acts acts = {});
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// With the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const;

private:
    struct Running;
    std::unique_ptr<Running> running_;
};

}  // namespace millpond::gateway
