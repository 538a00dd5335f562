#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <millpond/feed/moldudp64_layout.hpp>

namespace millpond::gateway::itch {

/// Where the messages of a session may be read that went by: a capture, a folder of captures, or a file of ITCH
/// messages.
struct History {
    std::string path;
    std::vector<std::uint16_t> ports;  ///< Of a capture's datagrams, those that went to one of these.
};

/// Whether it is a file of ITCH messages, which bears no session's name. Throws std::system_error for what cannot be
/// read.
[[nodiscard]] bool has_no_session(const History& history);

/// Calls take(datagram) for each MoldUDP64 datagram in it, until that is false: of a folder those of `*.pcap.1`,
/// `*.pcap.2`, ... and `*.pcap`, in this order; of a file of ITCH messages, which count from 1, those before `end` as
/// of `session`. Throws std::system_error, net::FileFormatError; a file that goes on growing, or is cut off, ends at
/// its last whole datagram. Returns why the first such file ends there; empty when each is whole.
std::string read_history(const History& history, const feed::moldudp64_layout::Session& session, std::uint64_t end,
                         const std::function<bool(std::span<const std::byte>)>& take);

}  // namespace millpond::gateway::itch
