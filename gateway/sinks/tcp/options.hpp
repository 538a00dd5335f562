#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/sink.hpp"
#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::gateway::tcp {

struct Options {
    std::string name{"tcp"};
    net::SocketAddress listen{};  ///< Port 0: the kernel chooses, see TcpSink::address.
    Delivery mode{Delivery::every};
    std::size_t backlog{16'384};  ///< Lines, a power of two.
    std::size_t max_clients{1'024};
    std::size_t send_buffer{std::size_t{256} * 1024};  ///< Bytes that the kernel may hold for a client.
    std::chrono::nanoseconds stall{std::chrono::seconds{10}};
    service::Token token{};     ///< What a client must present; none: not required.
    service::TlsContext tls{};  ///< Not on(): plain.
};

}  // namespace millpond::gateway::tcp
