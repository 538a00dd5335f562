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

namespace millpond::net::test {

using Bytes = std::vector<std::byte>;

inline Bytes operator+(Bytes left, const Bytes& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A copy of what a poll handed out.
struct Received {
    std::string text;
    std::int64_t receive_utc_ns;
    std::uint64_t receive_ticks;
};

/// Polls until `count` datagrams came, or nothing came for `patience_ms`.
inline std::vector<Received> receive(UdpReceiver& receiver, std::size_t count, int patience_ms = 5000) {
    std::vector<Received> all;
    while (all.size() < count) {
        const auto datagrams = receiver.poll();
        for (const auto& each : datagrams)
            all.push_back({text_of(each.bytes), each.receive_utc_ns, each.receive_ticks});
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
