#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <vector>

#include <millpond/net/udp_receiver.hpp>

namespace millpond::app {

/// Receives datagrams until there are at least `count`, or until none has arrived for two seconds.
inline std::vector<std::string> receive(net::UdpReceiver& receiver, std::size_t count) {
    std::vector<std::string> texts;
    while (texts.size() < count) {
        const auto datagrams = receiver.poll();
        for (const auto& each : datagrams)
            texts.emplace_back(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
        pollfd wait{receiver.fd(), POLLIN, 0};
        if (datagrams.empty() && ::poll(&wait, 1, 2000) <= 0) break;
    }
    return texts;
}

}  // namespace millpond::app
