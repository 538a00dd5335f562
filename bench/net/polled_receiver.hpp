#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/net/udp_receiver.hpp>

namespace millpond::bench {

/// A UdpReceiver with the interface of the bare sockets: poll calls handle(bytes) for each datagram.
class PolledReceiver {
public:
    explicit PolledReceiver(const net::ReceiveOptions& options) : receiver_(options) {}

    [[nodiscard]] std::uint16_t port() const { return receiver_.report().local.port(); }

    template <class Handle>
    std::size_t poll(Handle&& handle) {
        const auto datagrams = receiver_.poll();
        for (const auto& datagram : datagrams) handle(datagram.bytes);
        return datagrams.size();
    }

private:
    net::UdpReceiver receiver_;
};

}  // namespace millpond::bench
