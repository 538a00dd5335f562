#pragma once

#include <functional>
#include <memory>
#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::gateway {

/// Serves pages over HTTP/1.1 to GET requests, on a thread of its own. A client that is slow, silent or talks nonsense
/// is dropped after five seconds and disturbs no other.
///
/// Threads: pages are made on the server's thread.
class HttpServer {
public:
    struct Page {
        std::string type;  ///< Content-Type.
        std::string body;
        bool good{true};  ///< False: status 503.
    };
    /// The page of a path; an empty type means that there is none.
    using Pages = std::function<Page(const std::string& path)>;

    /// Listens at once. Throws std::system_error that names the address.
    HttpServer(const net::SocketAddress& listen, Pages pages);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// With the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const;

private:
    class Listener;
    std::unique_ptr<Listener> listener_;
};

}  // namespace millpond::gateway
