#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/memory/region_options.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/client_list.hpp"

/// The state of a gateway's feeds, rings and sinks at one time. Times are nanoseconds of the monotonic clock,
/// so that setting the system's clock changes no age; 0 is "never".
namespace millpond::gateway::health {

/// A counter whose increments come in bursts.
struct Burst {
    static constexpr std::int64_t kBurstNs = 10'000'000'000;
    std::int64_t pause_ns{kBurstNs};  ///< The burst ends after this much time without an event.
    std::uint64_t count{0};           ///< Total since startup.
    std::uint64_t before{0};          ///< `count` when the burst began.
    std::int64_t since{0};
    std::int64_t last{0};

    /// Updates the burst with the current count.
    constexpr void update(std::uint64_t now_count, std::int64_t now) noexcept {
        if (now_count <= count) return;
        if (last == 0 || now - last > pause_ns) {
            since = now;
            before = count;
        }
        count = now_count;
        last = now;
    }
    [[nodiscard]] constexpr bool is_active(std::int64_t now) const noexcept {
        return last != 0 && now - last <= pause_ns;
    }
};

/// A condition and the time when it began.
struct Condition {
    bool holds{false};
    std::int64_t since{0};

    constexpr void update(bool now_holds, std::int64_t now) noexcept {
        if (now_holds == holds && since != 0) return;
        holds = now_holds;
        since = now;
    }
};

/// State of one of a feed's two lines.
struct LineState {
    std::string name;  ///< "a" or "b".
    std::string listen;
    std::uint64_t datagrams{0};
    std::uint64_t used{0};     ///< Datagrams with messages that the other line had not delivered yet.
    std::uint64_t missing{0};  ///< Missing sequence numbers of this line.
    std::uint64_t kernel_drops{0};
    std::int64_t last_datagram{0};
    Condition apart{};           ///< The line is in another session than the feed and is ignored.
    std::string session{};       ///< The line's session while `apart` holds.
    std::string feed_session{};  ///< The feed's session while `apart` holds.
    bool data_apart{false};      ///< The line has messages of its session, not only heartbeats.
};

struct FeedState {
    std::string name;
    std::string ring;
    std::uint16_t channel{0};  ///< Of its events in the ring.
    std::string format;
    std::string listen;
    std::string interface;  ///< Empty: the kernel's choice.
    std::int64_t started{0};
    std::int64_t patience_ns{0};  ///< Silence after which the feed is stale; 0: never.
    Condition link_down;
    Condition disconnected;          ///< The feed receives by TCP and is not logged in.
    std::string connection_failure;  ///< Why its last connection ended; empty if none has.
    Condition not_joined;            ///< The interface has not joined the multicast group.
    Condition some_halted;           ///< Some instruments do not trade.
    Condition halted;                ///< The whole channel: halted, paused or at its end.
    std::string channel_state;
    bool session_over{false};  ///< The channel or its framing has announced the end.
    std::uint64_t datagrams{0};
    std::uint64_t bytes{0};
    std::uint64_t quotes{0};
    std::int64_t last_datagram{0};
    std::int64_t last_heard{0};  ///< Time of the last datagram that belongs to the feed (Feed::heard_ns).
    double datagrams_per_second{0};
    double quotes_per_second{0};
    std::optional<std::int64_t> delay_ns;  ///< Receive time minus exchange time of the newest quote.
    Burst dropped;                         ///< Datagrams that the kernel dropped at the feed's sockets.
    Burst corrupt;                         ///< Datagrams dropped for a wrong checksum (AF_XDP).
    Burst undecodable;
    Burst rejected;  ///< Rejected messages, including those of an unknown type.
    Burst strays;    ///< Datagrams of another session that was not confirmed.
    Burst ignored;   ///< Packets of the feed's server that were ignored.
    Burst missing;
    Burst refused_prices;  ///< Orders and levels with prices that books cannot hold.
    Burst crossed;         ///< Books that were crossed or locked while their instrument traded.
    std::uint32_t instruments_halted{0};
    std::uint32_t instruments_incomplete{0};
    std::vector<LineState> lines;     ///< Empty for a feed with one line.
    Condition quotes_incomplete;      ///< Some quotes are incomplete.
    Condition implausible_delay;      ///< delay_ns cannot be a network delay.
    Condition incomplete;             ///< The feed's books are incomplete and are to be rebuilt.
    Condition some_books_incomplete;  ///< Readers of levels or orders have incomplete books.
    std::uint64_t books_incomplete{0};
    Condition no_request_server;        ///< There is no route to the re-request server, or it does not answer tests.
    bool request_server_silent{false};  ///< There is a route.
    std::int64_t waits_ns{0};           ///< Time that newer messages have been waiting behind a gap.
    std::uint64_t joined_at{0};         ///< Feed::joined_at.
    std::int64_t joined_since{0};
    std::string request_server;  ///< Address; empty if there is none.
    std::string
        rebuild_failure;  ///< Error of the last rebuild; empty if none has failed since the books are incomplete.
    std::int64_t complete_at{0};  ///< When the feed's books were last seen to need no rebuild.

    /// failed: time of the last failure of a rebuild, 0 if none has failed. Failures from before the books were last
    /// complete are dropped; one may be older than `incomplete.since`, when it was first noticed.
    void update_rebuild(bool wanted, std::string failure, std::int64_t failed, std::int64_t now) {
        incomplete.update(wanted, now);
        if (!wanted) complete_at = now;
        rebuild_failure = wanted && failed > complete_at ? std::move(failure) : std::string{};
    }
};

/// Latencies of the last ten seconds and since startup, in nanoseconds.
struct LatencyState {
    struct Percentiles {
        std::uint64_t count{0};
        std::uint64_t mean{0};
        std::uint64_t p50{0};
        std::uint64_t p90{0};
        std::uint64_t p95{0};
        std::uint64_t p99{0};
        std::uint64_t p999{0};
        std::uint64_t max{0};
    };
    Percentiles all;
    Percentiles recent;  ///< Of the last ten seconds.
    Percentiles newest;  ///< Of the last counted second.
    /// Bars of `recent`: `second` values of at most `first`, and above the previous bar's `first`.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> bars;
};

/// A table of fixed size: entries that do not fit are refused and counted.
struct PoolState {
    std::string name;  ///< "instruments", "orders"
    std::string of;    ///< "ring 'main'", "feed 'a'"
    std::uint64_t used{0};
    std::uint64_t capacity{0};
    std::uint64_t refused{0};    ///< Total since startup.
    std::uint64_t missing{0};    ///< Refused entries whose data is still missing.
    std::int64_t full_since{0};  ///< Time of the first refusal that counts in `missing`.
    std::uint64_t sessions{0};   ///< Sessions that have emptied it.
    std::string_view bound{};    ///< Configuration key that sets the table's size.
    bool grows{false};           ///< How many entries it needs depends on the market.
    Condition nearly_full{};     ///< It grows, and kNearlyFull percent of it are in use.

    static constexpr std::uint64_t kNearlyFull = 90;
};

struct ReaderState {
    std::string name;
    std::uint64_t pid{0};
    std::uint32_t uid{0};
    std::uint64_t behind{0};  ///< Entries not read yet.
    std::uint64_t missed{0};
    bool alive{false};
};

/// A [[composite]].
struct CompositeState {
    /// Symbols in which a feed is left out, by reason.
    struct LeftOut {
        std::string feed;
        std::uint64_t incomplete{0};
        std::uint64_t silent{0};
        std::uint64_t halted{0};
        std::uint64_t not_firm{0};
    };
    std::string venue;
    std::uint16_t channel{0};
    std::uint64_t symbols{0};
    std::uint64_t locked{0};   ///< Symbols whose best bid is the best offer.
    std::uint64_t crossed{0};  ///< Symbols whose best bid is above the best offer.
    std::uint64_t refused{0};  ///< Instruments that are not in it.
    std::vector<LeftOut> left_out;
};

struct RingState {
    std::string name;
    Condition silent;      ///< The receive thread shows no activity.
    Burst capture_errors;  ///< Failed writes of the ring's capture.
    Burst capture_lost;    ///< Datagrams lost by the ring's capture.
    std::uint64_t published{0};
    double published_per_second{0};
    std::uint64_t capacity{0};
    std::uint32_t instruments{0};
    std::uint32_t max_instruments{0};
    std::uint64_t refused{0};
    memory::RegionReport memory;
    LatencyState wire;
    LatencyState in_process;
    std::int64_t latency_warn_ns{0};  ///< Bound of the finding about latency; 0: none.
    Condition slow;                   ///< The p99 of the last ten seconds is above that bound.
    std::vector<ReaderState> readers;
    bool readers_complete{true};  ///< False if there are more readers than listed.
    std::vector<CompositeState> composites;
};

struct SinkState {
    std::string name;
    std::string type;
    std::string ring;
    Account account;
    double delivered_per_second{0};
    std::optional<std::uint64_t> clients;       ///< Clients connected now; nullopt if it has no clients.
    std::uint64_t clients_departed{0};          ///< Those of them that have disconnected.
    std::uint64_t clients_accepted{0};          ///< Clients that have connected since it was opened.
    std::shared_ptr<ClientList> client_list{};  ///< Null if it cannot have clients.
    std::optional<std::uint64_t> replays;       ///< Clients that replay a journal now; nullopt likewise.
    std::uint64_t replays_failed{0};            ///< Replays that failed since it was opened.
    std::optional<bool> connected;              ///< Whether it is connected; nullopt if it makes no connection.
    Condition disconnected;                     ///< The sink makes a connection and has none.
    /// Longest time from the receipt of an event until the sink passed it on, in the last second; or the age of the
    /// oldest waiting event, if that is larger.
    std::int64_t lag_ns{0};
    std::int64_t patience_ns{0};  ///< Lag above which the sink is behind.
    Condition behind;
    bool ended{false};
    Burst stalled;         ///< Clients disconnected because they accepted no data.
    Burst clients_missed;  ///< Events lost to slow clients.
    /// Events that the ring overwrote before the sink read them; reported for five minutes.
    Burst lost{.pause_ns = 300'000'000'000};
    /// Writes, syncs and sends that failed, and names that did not fit; reported for five minutes.
    Burst failed{.pause_ns = 300'000'000'000};
    Burst refused{.pause_ns =
                      300'000'000'000};  ///< Messages that the sink's receiver refused; reported for five minutes.
    Condition checkpoint_overdue;
    std::uint64_t checkpoint_age_seconds{0};  ///< If it is overdue.
    std::string last_error;
    std::int64_t last_error_at{0};
    std::string exposed{};  ///< service::exposure of its listening address.
    std::int64_t since{0};  ///< Time when it was opened.
};

/// The running program.
struct ProgramState {
    std::string name;  ///< Of the gateway.
    std::string host;
    std::string version;
    std::string config_file;     ///< Empty: it was configured by flags.
    bool config_changed{false};  ///< The gateway runs with another content than the file has now.
    bool admits_admin{false};    ///< There is an admin token.
};

struct State {
    ProgramState program{};
    std::int64_t now{0};
    std::int64_t utc_offset_ns{0};  ///< UTC minus the monotonic clock at `now`.
    std::int64_t started{0};
    std::int64_t counted{0};  ///< When rates, latencies and the board were last read: in each second of UTC once.
    std::vector<FeedState> feeds;
    std::vector<RingState> rings;
    std::vector<PoolState> pools;
    std::vector<SinkState> sinks;
    std::string metrics_exposed;  ///< metrics_exposure of the configuration.
};

}  // namespace millpond::gateway::health
