#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/net/socket_address.hpp>

#include "service/log_function.hpp"

namespace millpond::market {
class RingReader;
}

/// The interface between sinks and the gateway. A SinkThread (sink_thread.hpp) runs a sink: it reads the ring for
/// it and keeps its account.
namespace millpond::gateway {

class ClientList;

/// Handling of events that a sink cannot pass on at once.
enum class Delivery : std::uint8_t {
    every,     ///< Pass on every event; events overwritten in the ring are counted as missed.
    conflate,  ///< Pass on the newest quote of each instrument; older ones are counted as conflated.
};

using MetricVisitor = std::function<void(std::string_view name, std::string_view help, const core::Tally& tally)>;

/// Counters of a sink for findings.
struct SinkHealth {
    std::optional<std::uint64_t> clients{};  ///< Clients connected now; nullopt if it has no clients.
    std::uint64_t clients_departed{0};       ///< Clients that have disconnected, for whatever reason.
    std::uint64_t clients_accepted{0};       ///< Clients that have connected.
    std::optional<std::uint64_t> replays{};  ///< Clients that replay a journal now; nullopt if it has no clients.
    std::uint64_t replays_failed{0};         ///< Replays that failed since it was opened.
    std::optional<bool> connected{};         ///< Whether its connection is up; nullopt if it makes none.
    std::uint64_t clients_stalled{0};        ///< Clients disconnected because they accepted no data.
    std::uint64_t clients_missed{0};         ///< Events lost to slow clients, over all of them.
    std::uint64_t failures{0};               ///< Failed writes, syncs, sends and searches, and names that did not fit.
    std::uint64_t refused_messages{0};       ///< Messages that the receiver refused.
    /// Age of a journal's newest checkpoint if the next one is long overdue; 0 otherwise.
    std::uint64_t overdue_checkpoint_seconds{0};
};

/// A journal, for sinks that follow it.
struct JournalSource {
    std::string ring;                           ///< Ring whose events it stores.
    std::filesystem::path folder;               ///< Folder of its segments.
    const core::Tally* newest_record{nullptr};  ///< Number of its newest record; valid while the journal sink runs.
    const std::atomic<bool>* is_open{nullptr};  ///< Whether that number is known; valid while the journal sink runs.
};

/// Position in a ring at which a sink stopped.
struct RingPlace {
    std::string ring;
    std::uint64_t epoch{0};
    std::uint64_t next{0};  ///< Entry at which its replacement continues.
};

/// Whether a sink accepts an event that it was passed.
enum class Admission : std::uint8_t {
    kept,      ///< The sink will pass the event on; until then it is part of held().
    filtered,  ///< The sink ignores events of this kind.
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

    /// Number of events that the sink can accept now. While it is 0, events stay in the ring or are conflated,
    /// depending on mode().
    [[nodiscard]] virtual std::size_t available() const noexcept = 0;
    [[nodiscard]] virtual Delivery mode() const noexcept = 0;
    /// Whether it needs the orders of all books again when it has missed some, or when it joins a ring in use: the
    /// board does not have them.
    [[nodiscard]] virtual bool needs_orders() const noexcept { return false; }

    /// Called once, before any other function. ring: reader of the sink's ring, which knows the depth of its channels;
    /// valid as long as the sink is called.
    virtual void open(const market::RingReader& ring) { static_cast<void>(ring); }
    /// Number of the first ring entry that the sink needs to continue an earlier run; nullopt if it starts with the
    /// board. Called once, after open(). epoch: epoch of the ring. stopped: next_wanted() of the sink that it replaces
    /// in a reload.
    [[nodiscard]] virtual std::optional<std::uint64_t> resume_at(std::uint64_t epoch,
                                                                 std::optional<std::uint64_t> stopped) {
        static_cast<void>(epoch);
        static_cast<void>(stopped);
        return std::nullopt;
    }
    /// Number of the entry at which the sink's replacement continues without a loss; nullopt if that should start with
    /// the board. Called after finish(). unread: the first entry that was not passed on.
    [[nodiscard]] virtual std::optional<std::uint64_t> next_wanted(std::uint64_t unread) const {
        static_cast<void>(unread);
        return std::nullopt;
    }

    /// Called with the name of each instrument before its first event, in the order of the ids. decimals: decimals that
    /// text of its prices has at least.
    virtual void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol,
                      unsigned decimals) = 0;
    /// Called when the sink joins, before all events, with the current quote of an instrument or the state of an
    /// instrument or channel. number: of the newest ring entry that the board includes.
    virtual void board(const feed::Quote& quote, std::uint64_t number) = 0;
    virtual void board(const feed::Status& status, std::uint64_t number) = 0;
    /// Called before the quote of a composite.
    virtual void board(const feed::BestVenues& venues, std::uint64_t number) {
        static_cast<void>(venues);
        static_cast<void>(number);
    }
    /// Called with the levels of the board, one group of snapshot events for each instrument: when the sink joins, and
    /// again some time after missed().
    virtual void board(const feed::Level& level, std::uint64_t number) {
        static_cast<void>(level);
        static_cast<void>(number);
    }

    /// Called for every quote when it is read, also if a newer one replaces it before it is passed on: it may be the
    /// last event of a group.
    virtual void observe(const feed::Quote& quote, std::uint64_t number) {
        static_cast<void>(quote);
        static_cast<void>(number);
    }
    /// Passes an event with the number of its ring entry. Events other than quotes are passed even if available() is 0.
    virtual Admission on(const feed::Quote& quote, std::uint64_t number) = 0;
    virtual Admission on(const feed::Trade& trade, std::uint64_t number) = 0;
    virtual Admission on(const feed::TradeBreak& broken, std::uint64_t number) = 0;
    virtual Admission on(const feed::Order& order, std::uint64_t number) {
        static_cast<void>(order);
        static_cast<void>(number);
        return Admission::filtered;
    }
    virtual Admission on(const feed::Level& level, std::uint64_t number) {
        static_cast<void>(level);
        static_cast<void>(number);
        return Admission::filtered;
    }
    virtual Admission on(const feed::Imbalance& imbalance, std::uint64_t number) {
        static_cast<void>(imbalance);
        static_cast<void>(number);
        return Admission::filtered;
    }
    virtual Admission on(const feed::Band& band, std::uint64_t number) {
        static_cast<void>(band);
        static_cast<void>(number);
        return Admission::filtered;
    }
    virtual Admission on(const feed::Definition& definition, std::uint64_t number) {
        static_cast<void>(definition);
        static_cast<void>(number);
        return Admission::filtered;
    }
    virtual Admission on(const feed::BestVenues& venues, std::uint64_t number) {
        static_cast<void>(venues);
        static_cast<void>(number);
        return Admission::filtered;
    }
    virtual Admission on(const feed::Status& status, std::uint64_t number) = 0;
    virtual Admission on(const feed::Gap& gap, std::uint64_t number) = 0;
    virtual Admission on(const feed::Clear& clear, std::uint64_t number) = 0;
    /// Called when ring entries first..last were overwritten before they were read: earlier quotes are incomplete until
    /// newer ones arrive.
    virtual void missed(std::uint64_t first, std::uint64_t last) = 0;

    /// Passes on as many held events as it can without blocking; called at least once in each round.
    virtual void step(std::int64_t monotonic_ns) = 0;
    /// Sleeps until there is work other than reading the ring, for at most `max_wait`.
    virtual void wait(std::chrono::nanoseconds max_wait) { std::this_thread::sleep_for(max_wait); }
    /// Called before begin_drain() if a reload removes or replaces the sink.
    virtual void note_reload() {}
    /// Called before the end; from then on the sink delays no event on purpose.
    virtual void begin_drain() {}
    /// True if nothing is left that rounds after begin_drain() do in parts. The ring is read meanwhile.
    [[nodiscard]] virtual bool is_drained() const noexcept { return true; }
    /// Called after the last event: passes on held events and closes. Events that cannot be passed on stay part of
    /// held().
    virtual void finish() = 0;

    /// Number of kept events that were not passed on yet.
    [[nodiscard]] virtual std::uint64_t held() const noexcept = 0;
    /// Number of kept events that the receiver refused, or whose group was cut before it was passed on.
    [[nodiscard]] virtual std::uint64_t refused_events() const noexcept { return 0; }
    /// Number of kept events that a newer state of the sink replaced before they were passed on.
    [[nodiscard]] virtual std::uint64_t conflated_events() const noexcept { return 0; }
    /// Name of its kind, and prefix of its metrics: "tcp".
    [[nodiscard]] virtual std::string_view type() const noexcept = 0;
    /// Calls visit(name, help, tally) for each of its metrics; counters end in _total. On any thread.
    virtual void visit_metrics(const MetricVisitor& visit) const = 0;
    /// Counters for findings; on any thread.
    [[nodiscard]] virtual SinkHealth health() const noexcept = 0;
    /// Address for clients; empty if it has none.
    [[nodiscard]] virtual net::SocketAddress address() const { return {}; }
    /// The list of its clients; null if it cannot have clients.
    [[nodiscard]] virtual std::shared_ptr<ClientList> client_list() const noexcept { return nullptr; }
    /// The journal that it writes; nullopt if it is not a journal sink.
    [[nodiscard]] virtual std::optional<JournalSource> journal() const { return std::nullopt; }
};

}  // namespace millpond::gateway
