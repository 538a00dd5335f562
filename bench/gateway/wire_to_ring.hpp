#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/gateway/datagram.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// Microseconds from before the send call of a bbo28 datagram until the subscriber has its quote, one at a time. The
/// calling thread sends and subscribes, on the first of two_cores(). Path: one of wire_paths.hpp.
template <class Path>
Finding wire_to_ring(Path& path, net::UdpSender& sender) {
    constexpr std::size_t kWarm = 500;
    static const core::TickRate kRate;
    run_on(two_cores().first);
    Finding found;
    const auto count = scaled(10'000);
    for (std::size_t i = 0; i < kWarm + count; ++i) {
        const auto bytes = datagram_of(static_cast<std::uint32_t>(100'000 + i));
        std::optional<feed::Price> price;
        const auto sent = core::ticks();
        spin_until([&] { return sender.send(bytes); });
        spin_until([&] { return (price = path.try_pop()).has_value(); });
        const auto received = core::ticks();
        found.answer += static_cast<std::uint64_t>(*price);
        if (i < kWarm) continue;
        found.latencies.push_back(
            static_cast<float>(static_cast<double>(received - sent) * kRate.nanos_per_tick() / 1'000));
    }
    return found;
}

}  // namespace millpond::bench
