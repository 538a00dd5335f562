#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/net/socket_address.hpp>

#include "service/say.hpp"

/// The interface between sinks and the gateway. A SinkThread (sink_thread.hpp) runs a sink: it reads the ring for
/// it and keeps its account.
namespace millpond::gateway {

/// What a sink does with events that it cannot pass on at once.
enum class Delivery : std::uint8_t {
    every,     ///< Pass on every event; events overwritten in the ring are counted as missed.
    conflate,  ///< Pass on the newest quote of each instrument; older ones are counted as conflated.
};

using MetricVisitor = std::function<void(std::string_view name, std::string_view help, const core::Tally& tally)>;

/// A journal for those that follow it.
struct JournalSource {
    std::string ring;                           ///< Whose events it holds.
    std::filesystem::path folder;               ///< Of its segments.
    const core::Tally* newest_record{nullptr};  ///< Number of its newest record; valid while the sink runs.
};

/// Where in its ring a sink stopped.
struct RingPlace {
    std::string ring;
    std::uint64_t epoch{0};
    std::uint64_t next{0};  ///< Entry at which its replacement continues.
};

/// What a sink did with an event.
enum class Taken : std::uint8_t {
    kept,      ///< It will be passed on; until then it is part of held().
    filtered,  ///< The sink does not take such events.
};

/// A consumer of the ring: encodes events and passes them on, at its own pace.
///
/// Threads: all functions on the sink's own thread.
class Sink {
public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;

    /// Events that it can take at the moment. While there is no room they stay in the ring or are conflated, as mode()
    /// says.
    [[nodiscard]] virtual std::size_t room() const noexcept = 0;
    [[nodiscard]] virtual Delivery mode() const noexcept = 0;

    /// Number of the first ring entry that it needs, to continue where an earlier run stopped; nothing if it starts
    /// with the board. Called once, before everything else. epoch: of the ring. stopped: the next_wanted of the sink
    /// that it replaces in a reload.
    [[nodiscard]] virtual std::optional<std::uint64_t> resume_at(std::uint64_t epoch,
                                                                 std::optional<std::uint64_t> stopped) {
        static_cast<void>(epoch);
        static_cast<void>(stopped);
        return std::nullopt;
    }
    /// After finish: number of the entry with which a sink that replaces it continues, so that nothing is lost between
    /// them; nothing if that sink should start with the board. unread: the first entry that was not passed on.
    [[nodiscard]] virtual std::optional<std::uint64_t> next_wanted(std::uint64_t unread) const {
        static_cast<void>(unread);
        return std::nullopt;
    }

    /// An instrument's name; comes before its first event, in the order of the ids.
    virtual void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) = 0;
    /// The current quote of an instrument, or the state of an instrument or a channel, when the sink joins; before all
    /// events. number: of the newest ring entry that the board includes.
    virtual void board(const feed::Quote& quote, std::uint64_t number) = 0;
    virtual void board(const feed::Status& status, std::uint64_t number) = 0;

    /// An event with the number of its ring entry. Events other than quotes may come when there is no room.
    virtual Taken on(const feed::Quote& quote, std::uint64_t number) = 0;
    virtual Taken on(const feed::Trade& trade, std::uint64_t number) = 0;
    virtual Taken on(const feed::TradeBreak& broken, std::uint64_t number) = 0;
    virtual Taken on(const feed::Status& status, std::uint64_t number) = 0;
    virtual Taken on(const feed::Gap& gap, std::uint64_t number) = 0;
    virtual Taken on(const feed::Clear& clear, std::uint64_t number) = 0;
    /// Entries first..last of the ring were overwritten before they were read: quotes passed on earlier are incomplete
    /// until newer ones arrive.
    virtual void missed(std::uint64_t first, std::uint64_t last) = 0;

    /// Passes on as many held events as it can without blocking; called at least once in each round.
    virtual void step(std::int64_t monotonic_ns) = 0;
    /// Sleeps until there is something to do besides the ring, for at most `longest`.
    virtual void wait(std::chrono::nanoseconds longest) { std::this_thread::sleep_for(longest); }
    /// The sink will end soon: from here on nothing is held back on purpose.
    virtual void hurry() {}
    /// No more events follow: passes on held events and closes. Events that cannot be passed on stay part of held().
    virtual void finish() = 0;

    /// Number of kept events that were not passed on yet.
    [[nodiscard]] virtual std::uint64_t held() const noexcept = 0;
    /// Its kind, the prefix of its metrics: "tcp".
    [[nodiscard]] virtual std::string_view type() const noexcept = 0;
    /// Calls visit(name, help, tally) for each of its metrics; counters end in _total. On any thread.
    virtual void visit_metrics(const MetricVisitor& visit) const = 0;
    /// Address for clients; empty if it has none.
    [[nodiscard]] virtual net::SocketAddress address() const { return {}; }
    /// The journal that it writes, if any.
    [[nodiscard]] virtual std::optional<JournalSource> journal() const { return std::nullopt; }
};

}  // namespace millpond::gateway
