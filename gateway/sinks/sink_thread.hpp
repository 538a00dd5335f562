#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/idle.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/queue/broadcast_reader.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/conflator.hpp"
#include "gateway/sinks/consumer.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway {

/// Runs a sink: reads the ring for it on a separate thread, holds waiting events as the sink's mode says, and keeps the
/// account. Whatever the sink does, no other thread waits for it.
///
/// The ring's writer does not know or wake readers, so the thread polls the ring. `poll` determines how it
/// waits: `spin` never sleeps; `adaptive` polls without a pause for a short time after an event, yielding its
/// processor, then sleeps for 20 to 200 microseconds at a time, and for a millisecond after a long silence; `block`
/// sleeps for up to a millisecond.
///
/// Threads: start, stop and account on any; the rest inside.
class SinkThread final : public Consumer {
public:
    struct Options {
        std::string ring;
        std::string name;
        core::Poll poll{core::Poll::adaptive};
        std::optional<std::uint32_t> pin{};   ///< Processor of the thread.
        std::chrono::nanoseconds holds{};     ///< For how long the sink may hold an event on purpose.
        std::optional<RingPlace> replaced{};  ///< Where the sink that this one replaces has stopped.
    };

    /// Joins the ring, board first or where the sink resumes: every event from there on is in the account. Throws
    /// market::RingError.
    SinkThread(const Options& options, std::unique_ptr<Sink> sink, service::Say say);
    /// Stops.
    ~SinkThread() override;

    void start() override;
    /// Lets the sink pass on the contents of the ring, for at most two seconds and while it makes progress, and ends
    /// it.
    void stop() override;

    [[nodiscard]] const std::string& name() const noexcept override { return name_; }
    [[nodiscard]] const std::string& ring() const noexcept override { return ring_; }
    /// Whether an error has ended it.
    [[nodiscard]] bool ended() const noexcept override { return ended_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::string_view type() const noexcept override { return sink_->type(); }
    void visit_metrics(const MetricVisitor& visit) const override { sink_->visit_metrics(visit); }
    [[nodiscard]] const Sink& sink() const noexcept { return *sink_; }
    [[nodiscard]] std::chrono::nanoseconds holds() const noexcept override { return holds_; }
    [[nodiscard]] net::SocketAddress address() const override { return sink_->address(); }
    [[nodiscard]] std::optional<JournalSource> journal() const override { return sink_->journal(); }
    [[nodiscard]] std::optional<RingPlace> stopped_at() const override;
    /// Adds up at every moment, also while the thread is stopped or has ended: events published meanwhile are queued,
    /// and missed once the ring has overwritten it. While the thread takes events, what it may have taken counts as
    /// queued, so that `missed` never goes down.
    [[nodiscard]] Account account() const noexcept override;

    /// One round of the thread's work, for tests without a thread; returns the number of entries read from the ring.
    std::size_t round(std::int64_t monotonic_ns);

private:
    /// The handler of the reader, for events while it polls and for the board while it joins.
    struct Events;
    struct Board;

    void run();
    /// Reads entries that the sink has room for.
    std::size_t take();
    /// Lets the sink pass on held events.
    void step(std::int64_t monotonic_ns);
    /// Waits as configured by `idle`; returns the number of entries found meanwhile.
    std::size_t rest(core::Idle& idle, bool silence);
    void name_up_to(feed::InstrumentId id);
    template <class Event>
    void pass_on(const Event& event, std::uint64_t number);
    void drain_waiting();
    /// reading: how many entries the poll that begins now takes at most.
    void publish_account(std::uint64_t reading = 0);

    std::string name_;
    std::string ring_;
    core::Poll poll_;
    std::optional<std::uint32_t> pin_;
    std::chrono::nanoseconds holds_;
    std::unique_ptr<Sink> sink_;
    service::Say say_;
    market::RingReader reader_;
    Conflator waiting_;
    feed::InstrumentId named_{0};
    std::uint64_t kept_{0};
    std::uint64_t filtered_{0};
    std::uint64_t conflated_{0};
    struct Progress {
        Account account;
        std::uint64_t readable{0};  ///< Next entry of the ring for the reader.
        std::uint64_t reading{0};   ///< How many from there on may already be read by the current poll.

        friend constexpr bool operator==(const Progress&, const Progress&) noexcept = default;
    };
    Shared<Progress> progress_;
    std::uint64_t since_{0};  // first entry of the account
    std::atomic<bool> stopping_{false};
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

}  // namespace millpond::gateway
