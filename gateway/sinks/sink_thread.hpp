#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/queue/broadcast_reader.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/conflator.hpp"
#include "gateway/sinks/consumer.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway {

/// Runs a sink on its own thread: reads the ring, queues or conflates waiting events, and keeps the account. No other
/// thread ever waits for the sink.
///
/// The ring's writer does not know or wake readers, so the thread polls the ring. `poll` determines how it
/// waits: `spin` never sleeps; `adaptive` polls without a pause for a short time after an event, yielding its
/// processor, then sleeps for 20 to 200 microseconds at a time, and for a millisecond after a long silence; `block`
/// sleeps for up to a millisecond.
///
/// Threads: start, stop and account on any.
class SinkThread final : public Consumer {
public:
    struct Options {
        std::string ring;
        std::string name;
        core::Poll poll{core::Poll::adaptive};
        std::optional<std::uint32_t> pin{};     ///< CPU of the thread.
        std::chrono::nanoseconds holds{};       ///< Time for which the sink may delay an event on purpose.
        std::optional<RingPlace> replaced{};    ///< Position at which the replaced sink stopped.
        std::function<void()> request_books{};  ///< As SinkHost::request_books, of this ring; may be empty.
    };

    /// Joins the ring with the board, or at the entry at which the sink resumes; the account counts every event from
    /// there on. Throws market::RingError.
    SinkThread(const Options& options, std::unique_ptr<Sink> sink, service::LogFunction log);
    /// Stops.
    ~SinkThread() override;

    void start() override;
    /// Lets the sink pass on the contents of the ring, for at most two seconds and while it makes progress, and stops.
    void note_reload() override { reloaded_ = true; }
    void stop() override;

    [[nodiscard]] const std::string& name() const noexcept override { return name_; }
    [[nodiscard]] const std::string& ring() const noexcept override { return ring_; }
    /// Whether an error has stopped the sink.
    [[nodiscard]] bool ended() const noexcept override { return ended_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::string_view type() const noexcept override { return sink_->type(); }
    void visit_metrics(const MetricVisitor& visit) const override { sink_->visit_metrics(visit); }
    [[nodiscard]] SinkHealth health() const noexcept override { return sink_->health(); }
    [[nodiscard]] const Sink& sink() const noexcept { return *sink_; }
    [[nodiscard]] std::chrono::nanoseconds holds() const noexcept override { return holds_; }
    [[nodiscard]] net::SocketAddress address() const override { return sink_->address(); }
    [[nodiscard]] std::shared_ptr<ClientList> client_list() const noexcept override { return sink_->client_list(); }
    [[nodiscard]] std::optional<JournalSource> journal() const override { return sink_->journal(); }
    [[nodiscard]] std::optional<RingPlace> stopped_at() const override;
    [[nodiscard]] std::uint64_t reset_max_lag() const noexcept override {
        return max_lag_ticks_.exchange(0, std::memory_order_relaxed);
    }
    /// Returns the account, which adds up at any time, even after the thread has stopped: later events count as queued,
    /// and as missed once the ring has overwritten them. Events that the thread may be reading count as queued, so that
    /// `missed` never decreases.
    [[nodiscard]] Account account() const noexcept override;

    /// Runs one round of the thread's work, for tests without a thread; returns the number of entries read from the
    /// ring.
    std::size_t round(std::int64_t monotonic_ns);

private:
    /// Handlers of the reader: Events while it polls, Board while it joins.
    struct Events;
    struct Board;

    void run();
    /// Reads as many entries as the sink can accept.
    std::size_t read_events();
    /// Lets the sink pass on held events.
    void step(std::int64_t monotonic_ns);
    /// Waits as configured by `idle`; returns the number of entries found meanwhile.
    std::size_t wait(core::Idle& idle, bool silence);
    void name_up_to(feed::InstrumentId id);
    template <class Event>
    void pass_on(const Event& event, std::uint64_t number);
    void drain_waiting();
    /// Passes levels of the board to a sink that has missed entries.
    void rejoin();
    /// Requests the books of orders for a sink that needs them.
    void request_books() const;
    /// Publishes the account. reading: maximum number of entries of the poll that follows.
    void publish_account(std::uint64_t reading = 0);

    std::string name_;
    std::string ring_;
    core::Poll poll_;
    std::optional<std::uint32_t> pin_;
    std::chrono::nanoseconds holds_;
    std::unique_ptr<Sink> sink_;
    service::LogFunction log_;
    std::function<void()> request_books_;
    market::RingReader reader_;
    Conflator waiting_;
    feed::InstrumentId named_{0};
    bool has_missed_{false};
    std::vector<feed::InstrumentId> rejoining_;  // instruments whose levels are to come from the board again
    std::size_t next_rejoin_{0};                 // index of the next one
    feed::InstrumentId rejoin_end_{0};           // instruments from this one on were not added yet
    std::vector<bool> awaits_level_;             // by id: the board had no levels; they come after the next one
    std::uint64_t kept_{0};
    std::uint64_t filtered_{0};
    std::uint64_t conflated_{0};
    mutable std::atomic<std::uint64_t> max_lag_ticks_{0};
    struct Progress {
        Account account;
        std::uint64_t readable{0};  ///< Next entry of the ring for the reader.
        std::uint64_t reading{0};   ///< Maximum number of further entries that the current poll reads.

        friend constexpr bool operator==(const Progress&, const Progress&) noexcept = default;
    };
    SharedRecord<Progress> progress_;
    std::uint64_t since_{0};  // first entry of the account
    bool reloaded_{false};    // written before stopping_
    std::atomic<bool> stopping_{false};
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

}  // namespace millpond::gateway
