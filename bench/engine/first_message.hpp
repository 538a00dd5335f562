#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <millpond/core/clock.hpp>

#include "bench/engine/raw_path.hpp"
#include "bench/engine/raw_send_path.hpp"
#include "bench/engine/send_budget.hpp"

namespace millpond::bench {

inline constexpr std::size_t kWarmMessages = 500;
inline constexpr std::chrono::milliseconds kWarmUp{1};  // as in the guide

/// Loopback traffic of the reading thread with itself, which keeps its part of the kernel in the caches: the bench is
/// about the sending side.
class WarmPeer {
public:
    /// Exchanges a datagram once per millisecond. Returns false if it is too early.
    bool keep_warm() {
        const auto now = core::monotonic_nanos();
        if (now < next_ns_) return false;
        next_ns_ = now + std::chrono::nanoseconds{kWarmUp}.count();
        std::array<char, 181> bytes{};
        static_cast<void>(::send(sockets_.here, bytes.data(), bytes.size(), MSG_NOSIGNAL));
        spin_until([&] { return ::recv(sockets_.there, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0; });
        return true;
    }

private:
    TcpPair sockets_;
    std::int64_t next_ns_{0};
};

struct Silence {
    std::chrono::milliseconds length{0};  ///< 0: the messages before the silence are the samples.
    std::size_t times{1};
    bool rehearses{false};  ///< The caller makes and drops a draft every millisecond.
};

/// Sends single messages, then spins silently in both threads, then sends one more. The sample is the time until the
/// peer has that one, in microseconds.
template <class Path>
Finding first_messages(Path&& path, const Silence& silence) {
    WarmPeer peer;
    std::uint64_t sent = 1;  // one message was sent by the path itself
    const auto send_one = [&] {
        const auto begin = core::ticks();
        path.send();
        ++sent;
        spin_until([&] { return path.arrived() == sent; });
        return static_cast<float>(static_cast<double>(core::ticks() - begin) * kRate.nanos_per_tick() / 1e3);
    };
    Finding found;
    found.latencies.reserve(silence.times * kWarmMessages);
    const bool is_silent = silence.length.count() != 0;
    for (std::size_t time = 0; time < silence.times; ++time) {
        for (std::size_t i = 0; i < kWarmMessages; ++i) {
            const auto took = send_one();
            if (!is_silent && i >= kWarmMessages / 2) found.latencies.push_back(took);
        }
        const auto end = core::monotonic_nanos() + std::chrono::nanoseconds{silence.length}.count();
        while (core::monotonic_nanos() < end) {
            static_cast<void>(path.arrived());
            if (!peer.keep_warm()) continue;
            if constexpr (requires { path.rehearse(); }) {
                if (silence.rehearses) path.rehearse();
            }
        }
        const auto first = send_one();
        if (is_silent) found.latencies.push_back(first);
    }
    spin_until([&] { return path.written() == sent; });
    found.answer = sent;
    return found;
}

/// Duration of the silence; a tenth with --quick.
inline void compare_first_messages(std::chrono::milliseconds length, std::size_t times,
                                   const std::vector<std::chrono::nanoseconds>& warm_ups) {
    const auto silent = std::chrono::milliseconds{scaled(static_cast<std::size_t>(length.count()))};
    const auto raw = [times](std::chrono::milliseconds silence) {
        run_on(two_cores().first);
        return first_messages(RawSendPath{}, {.length = silence, .times = times});
    };
    const auto ours = [times](std::chrono::milliseconds silence, std::chrono::nanoseconds warm_up) {
        run_on(two_cores().first);
        return first_messages(SendPath{warm_up},
                              {.length = silence, .times = times, .rehearses = warm_up.count() != 0});
    };
    constexpr auto kWarm = std::chrono::milliseconds{0};
    std::vector<Contender> contenders{{"warm", [=] { return ours(kWarm, {}); }},
                                      {"raw sockets, warm", [=] { return raw(kWarm); }}};
    // Ten seconds for each sample: only one contender with a silence, so that a bench ends within two minutes.
    if (warm_ups.size() > 1) contenders.push_back({"raw sockets, after silence", [=] { return raw(silent); }});
    std::vector<Goal> goals;
    for (const auto warm_up : warm_ups) {
        const bool warms = warm_up.count() != 0;
        contenders.push_back(
            {warms ? "after silence, warm_up of 1 ms" : "after silence", [=] { return ours(silent, warm_up); }});
        if (warms) goals.push_back({.contender = contenders.back().name, .to = "warm", .at_most = 1.5});
    }
    compare({.question = "How much longer does the first message after " + std::to_string(length.count()) +
                         " ms of silence take?",
             .unit = "us",
             .goals = goals,
             .measured = "call of send of an AsyncSender until the peer has the bytes, TCP on loopback, both threads "
                         "spin during the silence, and the reading one has traffic of its own",
             .not_measured = "a sleeping I/O thread, other programs that take the caches"},
            contenders);
}

}  // namespace millpond::bench
