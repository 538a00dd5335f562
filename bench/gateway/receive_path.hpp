#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/gateway/datagram.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/gateway/wire_latencies.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// Nanoseconds from the kernel's receive time of a datagram until its quote is in the ring, as recorded by the gateway,
/// for `count` datagrams, one at a time, at least 20 us apart. after_each: work of a consumer on this thread after each
/// datagram.
template <class AfterEach>
Finding receive_path(const RunningGateway& running, AfterEach after_each, std::size_t count = scaled(10'000)) {
    constexpr std::int64_t kPaceNanos = 20'000;
    constexpr std::size_t kWarm = 500;
    const core::TickRate rate;
    net::UdpSender sender({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(running.feed_port()))});
    const auto& published = running.pipeline().publisher().published();
    Snapshot before;
    for (std::size_t i = 0; i < kWarm + count; ++i) {
        if (i == kWarm) before = wire_latencies(running);
        const auto start = core::ticks();
        const auto bytes = datagram_of(static_cast<std::uint32_t>(100'000 + i % 10'000));
        spin_until([&] { return sender.send(bytes); });
        spin_until([&] { return published.read() > i; });
        after_each();
        spin_until([&] { return rate.nanos(core::ticks() - start) >= kPaceNanos; });
    }
    const auto after = wire_latencies(running);
    after->subtract(*before);
    return {.answer = published.read(), .latencies = values_of(*after)};
}

/// Compares ways to run a gateway by receive_path; the first one is the reference. beside: what runs beside the receive
/// thread, for the description.
inline void compare_receive_path(const std::string& question, const std::string& beside,
                                 const std::string& not_measured, const std::vector<Contender>& contenders) {
    std::vector<Goal> goals;
    for (std::size_t i = 1; i < contenders.size(); ++i) {
        const auto& name = contenders[i].name;
        const auto& to = contenders.front().name;
        goals.push_back({.contender = name, .to = to, .of = Statistic::p50, .at_most = 1.03});
        goals.push_back({.contender = name, .to = to, .of = Statistic::p99, .at_most = 1.10});
    }
    constexpr std::size_t kRounds = 99;  // narrow intervals, a few hundredths wide, for the goals
    compare({.question = question,
             .unit = "ns",
             .runs = kRounds,
             .goals = goals,
             .measured = "from the kernel's receive time until the quote is in the ring, as the gateway records it" +
                         beside +
                         "; one datagram at a time, 20 us apart or more, the receive thread alone on its "
                         "processor and spinning",
             .not_measured = not_measured},
            contenders);
}

}  // namespace millpond::bench
