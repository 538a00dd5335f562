#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"
#include "bench/net/veth_sources.hpp"
#include "bench/rivals/packet_ring.hpp"
#include "tests/net/network_pair.hpp"

namespace millpond::bench {

enum class Part : std::uint8_t {
    all,        ///< Sending, the kernel's work, and receiving.
    receiving,  ///< Receiving, after all datagrams have arrived.
};

/// Nanoseconds per datagram of 256 bytes, in bursts of 64, on one processor.
template <Part part, class Source>
Finding carry(const net::test::NetworkPair& pair, net::Want trains, Source& source) {
    constexpr std::size_t kDatagramBytes = 256;
    constexpr std::size_t kBurst = 64;
    pair.enter_far();
    net::UdpSender sender({.to = near_address(source.port()), .gso = trains});
    pair.enter_near();
    std::array<std::array<std::byte, kDatagramBytes>, kBurst> bytes{};
    std::vector<std::span<const std::byte>> datagrams(bytes.begin(), bytes.end());
    std::uint64_t number = 0;
    std::uint64_t answer = 0;
    const auto send = [&] {
        for (std::size_t sent = 0; sent < kBurst;) sent += sender.send(std::span(datagrams).subspan(sent));
    };
    const auto receive = [&] {
        std::size_t received = 0;
        spin_until([&] {
            received += source.poll(
                [&](std::span<const std::byte> came) { answer += core::load_le<std::uint64_t>(came.data()); });
            return received == kBurst;
        });
    };
    std::vector<double> nanos(scaled(1'000));
    for (auto& each : nanos) {
        for (auto& datagram : bytes) core::store_le(datagram.data(), ++number);
        if constexpr (part == Part::receiving) send();
        each = nanos_each(kBurst, [&] {
            if constexpr (part == Part::all) send();
            receive();
        });
    }
    return {.value = median(std::move(nanos)), .answer = answer};
}

/// All receivers that work on a pair of virtual interfaces.
template <Part part>
[[nodiscard]] std::vector<Contender> carriers(const net::test::NetworkPair& pair) {
    using net::ReceivePath;
    using net::Want;
    const auto ours = [&pair](ReceivePath path, Want trains) {
        return [&pair, path, trains] {
            PolledReceiver receiver(on_veth(path, trains));
            return carry<part>(pair, trains, receiver);
        };
    };
    return {{"bare recv",
             [&pair] {
                 BareSocket socket;
                 return carry<part>(pair, Want::no, socket);
             }},
            {"socket", ours(ReceivePath::socket, Want::no)},
            {"AF_XDP", ours(ReceivePath::af_xdp, Want::no)},
            {"TPACKET ring",
             [&pair] {
                 PacketRing ring("near0");
                 return carry<part>(pair, Want::no, ring);
             }},
            {"socket, trains", ours(ReceivePath::socket, Want::require)}};
}

}  // namespace millpond::bench
