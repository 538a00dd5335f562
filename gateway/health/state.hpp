#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/memory/region_options.hpp>

#include "gateway/sinks/account.hpp"

/// The state of a gateway's feeds, rings and sinks at one time. Times are nanoseconds of the monotonic clock,
/// so that setting the system's clock changes no age; 0 is "never".
namespace millpond::gateway::health {

/// Combines events that come in bursts.
struct Burst {
    static constexpr std::int64_t kBurstNs = 10'000'000'000;
    std::int64_t pause_ns{kBurstNs};  ///< The burst ends after this much time without an event.
    std::uint64_t count{0};           ///< Since the start of all.
    std::uint64_t before{0};          ///< `count` when the burst began.
    std::int64_t since{0};
    std::int64_t last{0};

    /// Updates it with the current count.
    constexpr void see(std::uint64_t now_count, std::int64_t now) noexcept {
        if (now_count <= count) return;
        if (last == 0 || now - last > pause_ns) {
            since = now;
            before = count;
        }
        count = now_count;
        last = now;
    }
    [[nodiscard]] constexpr bool goes_on(std::int64_t now) const noexcept {
        return last != 0 && now - last <= pause_ns;
    }
};

/// A condition and when it began.
struct Condition {
    bool holds{false};
    std::int64_t since{0};

    constexpr void see(bool now_holds, std::int64_t now) noexcept {
        if (now_holds == holds && since != 0) return;
        holds = now_holds;
        since = now;
    }
};

/// One of the two lines of a feed.
struct LineState {
    std::string name;  ///< "a" or "b".
    std::string listen;
    std::uint64_t datagrams{0};
    std::uint64_t used{0};     ///< Brought something first.
    std::uint64_t missing{0};  ///< Sequence numbers that this line missed.
    std::uint64_t kernel_drops{0};
    std::int64_t last_datagram{0};
    Condition apart{};           ///< It brings another session than the feed's and is ignored.
    std::string session{};       ///< That session, while it does.
    std::string feed_session{};  ///< And the feed's.
};

struct FeedState {
    std::string name;
    std::string ring;
    std::string format;
    std::string listen;
    std::string interface;  ///< Empty: the kernel's choice.
    std::int64_t started{0};
    std::int64_t patience_ns{0};  ///< It is stale after this much silence; 0: never.
    Condition link_down;
    Condition not_joined;   ///< Holds for a multicast group that the interface has not joined.
    Condition some_halted;  ///< Some of its instruments do not trade.
    Condition halted;       ///< The whole channel: halted, paused or at its end.
    std::string channel_state;
    bool session_over{false};  ///< The channel or its framing has announced the end.
    std::uint64_t datagrams{0};
    std::uint64_t bytes{0};
    std::uint64_t quotes{0};
    std::int64_t last_datagram{0};
    std::int64_t last_heard{0};  ///< When one that belongs to the feed arrived (Feed::heard_ns).
    double datagrams_per_second{0};
    double quotes_per_second{0};
    std::optional<std::int64_t> delay_ns;  ///< From the exchange's time of the newest quote to its receive time.
    Burst dropped;                         ///< By the kernel, in front of the feed's socket.
    Burst corrupt;                         ///< Dropped for a wrong checksum (AF_XDP).
    Burst undecodable;
    Burst rejected;  ///< Messages, those of an unknown type among them.
    Burst strays;    ///< Datagrams of another session that was not confirmed.
    Burst missing;
    std::uint32_t instruments_halted{0};
    std::uint32_t instruments_incomplete{0};
    std::vector<LineState> lines;  ///< Where there are two.
    Condition quotes_incomplete;   ///< Some of its quotes are.
    Condition implausible_delay;   ///< delay_ns cannot be a network delay.
    Condition incomplete;          ///< Its books are, and are to be rebuilt.
    Condition no_request_server;   ///< No route leads to it.
    std::string request_server;    ///< Address; empty if there is none.
    std::string rebuild_failure;   ///< Why that failed last; empty when it has not since they are incomplete.
};

/// Latencies of the newest seconds and of all, in nanoseconds.
struct LatencyState {
    struct Percentiles {
        std::uint64_t count{0};
        std::uint64_t p50{0};
        std::uint64_t p90{0};
        std::uint64_t p99{0};
        std::uint64_t p999{0};
        std::uint64_t max{0};
    };
    Percentiles all;
    Percentiles recent;
    /// Of the newest seconds: values of at most `first`, and more than the bar's before.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> bars;
};

/// A table of fixed size: entries that do not fit are refused and counted.
struct PoolState {
    std::string name;  ///< "instruments", "orders"
    std::string of;    ///< "ring 'main'", "feed 'a'"
    std::uint64_t used{0};
    std::uint64_t capacity{0};
    std::uint64_t refused{0};    ///< Since the start.
    std::uint64_t missing{0};    ///< Of them, those whose data is still missing.
    std::int64_t full_since{0};  ///< When the first of those was refused.
    std::uint64_t sessions{0};   ///< That have emptied it.
    std::string_view bound{};    ///< The key of the configuration that limits it.
};

struct ReaderState {
    std::string name;
    std::uint64_t pid{0};
    std::uint32_t uid{0};
    std::uint64_t behind{0};  ///< Entries.
    std::uint64_t missed{0};
    bool alive{false};
};

struct RingState {
    std::string name;
    Condition silent;      ///< The receive thread shows no activity.
    Burst capture_errors;  ///< Writes of its capture that the system refused.
    Burst capture_lost;    ///< Datagrams that the capture had no room for meanwhile.
    std::uint64_t published{0};
    double published_per_second{0};
    std::uint64_t capacity{0};
    std::uint32_t instruments{0};
    std::uint32_t max_instruments{0};
    std::uint64_t refused{0};
    memory::RegionReport memory;
    LatencyState wire;
    LatencyState in_process;
    std::vector<ReaderState> readers;
    bool readers_complete{true};  ///< False when there are more than are listed.
};

struct SinkState {
    std::string name;
    std::string type;
    std::string ring;
    Account account;
    double delivered_per_second{0};
    std::optional<std::uint64_t> clients;  ///< Connected now, where there are any to connect.
    std::optional<bool> connected;         ///< Where it connects itself.
    Condition disconnected;                ///< Holds where it does and is not.
    std::int64_t lag_ns{0};                ///< Minimum age of the events that it passes on now; while it is stopped,
                                           ///< for how long it has.
    std::int64_t patience_ns{0};           ///< It is behind when it lags more.
    Condition behind;
    bool ended{false};
    Burst stalled;  ///< Clients that were disconnected because they took nothing.
    /// Events that the ring overwrote before the sink read them; shown for five minutes after the last.
    Burst lost{.pause_ns = 300'000'000'000};
    std::string last_error;
    std::int64_t last_error_at{0};
};

struct State {
    std::int64_t now{0};
    std::int64_t utc_offset_ns{0};  ///< UTC less the monotonic clock, at `now`.
    std::int64_t started{0};
    std::vector<FeedState> feeds;
    std::vector<RingState> rings;
    std::vector<PoolState> pools;
    std::vector<SinkState> sinks;
};

}  // namespace millpond::gateway::health
