#pragma once

#include <cstddef>

namespace millpond::gateway::json_lines {

/// Makes a client's TCP socket send at once, keep at most `send_buffer` bytes in the kernel, and notice a dead peer
/// also when there is nothing to send.
void set_client_options(int socket, std::size_t send_buffer);

}  // namespace millpond::gateway::json_lines
