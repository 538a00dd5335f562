#pragma once

#include <memory>
#include <string>

#include <millpond/net/socket_address.hpp>

#include "service/http/page.hpp"

namespace millpond::http {

/// Serves pages on a thread of its own, as http/listener.hpp says.
///
/// Threads: pages are made on the server's thread.
class Server {
public:
    /// Listens at once; `name` stands for it in errors. Throws std::system_error that names the address.
    Server(const std::string& name, const net::SocketAddress& listen, http::Pages pages, http::Acts acts = {});
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// With the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const;

private:
    struct Running;
    std::unique_ptr<Running> running_;
};

}  // namespace millpond::http
