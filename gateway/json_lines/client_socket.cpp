#include "gateway/json_lines/client_socket.hpp"

#include <cstddef>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace millpond::gateway::json_lines {

void set_client_options(int socket, std::size_t send_buffer) {
    const auto set = [socket](int level, int name, int value) {
        setsockopt(socket, level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_SNDBUF, static_cast<int>(send_buffer));
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace millpond::gateway::json_lines
