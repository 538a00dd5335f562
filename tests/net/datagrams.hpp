#pragma once

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/net/udp_receiver.hpp>

#include "tests/support/bytes.hpp"

namespace millpond::net::test {

/// A copy of a received datagram.
struct Received {
    std::string text;
    std::int64_t receive_utc_ns;
    std::uint64_t receive_ticks;
};

/// Polls until `count` datagrams arrived, or none arrived for `patience_ms`.
inline std::vector<Received> receive(UdpReceiver& receiver, std::size_t count, int patience_ms = 5000) {
    std::vector<Received> all;
    while (all.size() < count) {
        const auto datagrams = receiver.poll();
        for (const auto& each : datagrams)
            all.push_back({millpond::test::text_of(each.bytes), each.receive_utc_ns, each.receive_ticks});
        pollfd wait{receiver.fd(), POLLIN, 0};
        if (datagrams.empty() && ::poll(&wait, 1, patience_ms) <= 0) break;
    }
    return all;
}

inline std::vector<std::string> receive_texts(UdpReceiver& receiver, std::size_t count, int patience_ms = 5000) {
    std::vector<std::string> texts;
    for (auto& each : receive(receiver, count, patience_ms)) texts.push_back(std::move(each.text));
    return texts;
}

}  // namespace millpond::net::test
