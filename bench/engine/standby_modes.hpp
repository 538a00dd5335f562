#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <millpond/core/clock.hpp>

#include "bench/engine/round_trip.hpp"

namespace millpond::bench {

/// Raw sockets, then sessions with their stores in files: without a standby, and with one in each mode. All threads
/// sleep while they wait, since they are three on two processors.
template <class AskRaw, class AskSession>
[[nodiscard]] std::vector<Contender> standby_contenders(AskRaw&& ask_raw, AskSession&& ask_session) {
    const auto ours = [ask_session](std::optional<engine::StandbyMode> mode) {
        return [ask_session, mode] {
            run_on(two_cores().first);
            SessionPath path{core::Poll::block, true, mode};
            const auto found = ask_session(path);
            if (!path.standby_has_all()) throw Refused("the standby was lost, or lacks messages");
            return found;
        };
    };
    return {{"raw sockets",
             [ask_raw] {
                 run_on(two_cores().first);
                 RawPath<false> path;
                 return ask_raw(path);
             }},
            {"no standby", ours({})},
            {"standby, mode none", ours(engine::StandbyMode::none)},
            {"standby, mode received", ours(engine::StandbyMode::received)}};
}

/// Thousands of orders answered in a second.
template <class Path>
[[nodiscard]] Finding answer_rate(Path& path, std::size_t count, std::size_t window) {
    static_cast<void>(path.round_trips(kFirstId, window, window));
    const auto begin = core::monotonic_nanos();
    const auto last = path.round_trips(kFirstId + window, count, window);
    const auto nanos = core::monotonic_nanos() - begin;
    return {.value = static_cast<double>(count) * 1e6 / static_cast<double>(nanos), .answer = last};
}

}  // namespace millpond::bench
