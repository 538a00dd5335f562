#pragma once

#include <memory>

#include <millpond/net/socket_address.hpp>
#include <millpond/tls/context.hpp>

#include "service/http/options.hpp"
#include "service/http/page.hpp"
#include "service/token.hpp"

namespace millpond::http {

/// Serves pages on a separate thread; see http/listener.hpp.
///
/// Threads: pages are made on the server's thread.
class Server {
public:
    /// Starts to listen. Throws std::system_error that has the address.
    Server(const Options& options, Pages pages);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// The address, with the port that the kernel chose.
    [[nodiscard]] net::SocketAddress address() const;
    /// Calls Listener::renew on the server's thread and waits for it. Must not be called on that thread.
    void renew(service::Token token, const tls::Context& tls);

private:
    struct Running;
    std::unique_ptr<Running> running_;
};

}  // namespace millpond::http
