#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/net/udp_receiver.hpp>

namespace millpond::bench {

/// A UdpReceiver in the shape of the bare sockets beside it: poll calls take(bytes) for each datagram.
class Taker {
public:
    explicit Taker(const net::UdpReceiver::Options& options) : receiver_(options) {}

    [[nodiscard]] std::uint16_t port() const { return receiver_.report().local.port(); }

    template <class Take>
    std::size_t poll(Take&& take) {
        const auto datagrams = receiver_.poll();
        for (const auto& datagram : datagrams) take(datagram.bytes);
        return datagrams.size();
    }

private:
    net::UdpReceiver receiver_;
};

}  // namespace millpond::bench
