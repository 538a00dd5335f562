#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <millpond/net/socket_address.hpp>

#include "service/http/page.hpp"
#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::http {

/// Serves pages on a separate thread; see http/listener.hpp.
///
/// Threads: pages are made on the server's thread.
class Server {
public:
    struct Options {
        std::string name{};  ///< For errors, and of the thread.
        net::SocketAddress listen{};
        service::Token token{};
        service::TlsContext tls{};                             ///< Not on(): plain HTTP.
        std::function<bool(std::string_view path)> is_open{};  ///< Whether a page needs no token; none: no page.
        Acts acts{};                                           ///< None: GET and HEAD only.
    };

    /// Listens at once. Throws std::system_error that names the address.
    Server(const Options& options, Pages pages);
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
