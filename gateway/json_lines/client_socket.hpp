#pragma once

#include <cstddef>

namespace millpond::gateway::json_lines {

/// Sets a client's TCP socket to send at once, to hold at most `send_buffer` bytes in the kernel, and to detect a dead
/// peer without traffic.
void set_client_options(int socket, std::size_t send_buffer);

}  // namespace millpond::gateway::json_lines
