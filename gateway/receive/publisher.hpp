#pragma once

#include <cstdint>

#include <millpond/core/clock.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/market/ring_writer.hpp>
#include <millpond/metrics/latency_histogram.hpp>

#include "gateway/receive/composites.hpp"
#include "gateway/receive/notice.hpp"
#include "gateway/receive/tick_clock.hpp"
#include "gateway/sinks/new_session.hpp"

namespace millpond::gateway {

/// Latencies of events until they are in shared memory.
struct Latencies {
    metrics::LatencyHistogram wire;        ///< From the kernel's or the card's receive time to the ring.
    metrics::LatencyHistogram in_process;  ///< From the end of the receive call to the ring.
};

/// Event handler of the decoders: writes the names of new instruments to the board, publishes, and records latencies.
///
/// Threads: the receive thread; the latencies may be read on any.
/// Memory:  no allocation after construction; no system call.
class Publisher {
public:
    /// Instruments below writer.instruments() have names already.
    Publisher(market::RingWriter& writer, const feed::InstrumentTable& instruments, Notices& notices) noexcept
        : writer_(writer), instruments_(instruments), notices_(notices) {
        named_.set(writer.instruments());
    }

    // One function for each kind of event: a new one does not compile until its handling is decided here.
    void on(const feed::Quote& quote) noexcept {
        publish(quote);
        follow(quote);
    }
    void on(const feed::Trade& trade) noexcept {
        publish(trade);
        follow(trade);
    }
    void on(const feed::TradeBreak& broken) noexcept { publish(broken); }
    void on(const feed::Status& status) noexcept {
        publish(status);
        follow(status);
    }
    void on(const feed::Order& order) noexcept { publish(order); }
    void on(const feed::Level& level) noexcept {
        publish(level);
        follow(level);
    }
    void on(const feed::Imbalance& imbalance) noexcept { publish(imbalance); }
    void on(const feed::Band& band) noexcept { publish(band); }
    void on(const feed::Definition& definition) noexcept { publish(definition); }
    /// Publishes a gap without recording a latency: the datagram that revealed the gap did not cause it.
    void on(const feed::Gap& gap) noexcept {
        name_new();
        if (writer_.publish(gap)) published_.add();
        follow(gap);
        notices_.push({.kind = Notice::Kind::gap,
                       .channel = gap.channel,
                       .gap = gap.reason,
                       .first = gap.first,
                       .last = gap.last});
    }
    void on(const feed::Clear& clear) noexcept {
        publish(clear);
        follow(clear);
        if (begins_session(clear)) ++sessions_;
        if (clear.reason == feed::ClearReason::end_of_session) ++session_ends_;
        notices_.push({.kind = Notice::Kind::clear, .channel = clear.channel, .reason = clear.reason});
    }

    /// Publishes a confirmed quote of the board again. The quote keeps its times, so no latency is recorded.
    void confirm(const feed::Quote& quote) noexcept {
        if (writer_.publish(quote)) published_.add();
        follow(quote);
    }

    /// Makes composites of the quotes; null: there are none. Call it before the first event.
    void set_composites(Composites* composites) noexcept { composites_ = composites; }
    /// Publishes some of what a Gap, a Clear or a new instrument changed of the composites, between the datagrams of
    /// two polls. Returns 0 if there is nothing to do before the next beat.
    std::size_t renew_composites() noexcept {
        if (composites_ == nullptr) return 0;
        if (instruments_.size() != named_.read()) [[unlikely]]
            name_new();
        return composites_->renew(ToRing{*this});
    }
    [[nodiscard]] bool has_composites() const noexcept { return composites_ != nullptr; }
    /// See market::Composite::set_known. No effect if instruments were refused, whose quotes are not published.
    void set_known(std::uint16_t channel, bool repaired) noexcept {
        if (composites_ != nullptr && instruments_.refused().read() == 0) composites_->set_known(channel, repaired);
    }
    [[nodiscard]] const market::QuoteBoard& board() const noexcept { return writer_.board(); }
    [[nodiscard]] std::uint64_t ring_capacity() const noexcept { return writer_.capacity(); }

    /// Adjusts the clock and writes the ring's heartbeat; call it a few times a second.
    void beat() noexcept {
        clock_.set();
        writer_.heartbeat(core::utc_nanos());
        if (composites_ != nullptr) composites_->set_budget(writer_.capacity() / kRenewalsOfRing);
        beaten_ns_.set(static_cast<std::uint64_t>(core::monotonic_nanos()));
    }

    [[nodiscard]] const core::Tally& published() const noexcept { return published_; }
    /// New sessions of all channels so far; on the receive thread.
    [[nodiscard]] std::uint64_t sessions() const noexcept { return sessions_; }
    /// Ends of sessions that the channels' framing has announced; on the receive thread.
    [[nodiscard]] std::uint64_t session_ends() const noexcept { return session_ends_; }
    [[nodiscard]] const core::Tally& named() const noexcept { return named_; }
    /// core::monotonic_nanos() of the last beat.
    [[nodiscard]] const core::Tally& beaten_ns() const noexcept { return beaten_ns_; }
    [[nodiscard]] const TickClock& clock() const noexcept { return clock_; }
    [[nodiscard]] const Latencies& latencies() const noexcept { return latencies_; }

private:
    static constexpr std::uint64_t kRenewalsOfRing = 8;  // of each beat

    /// Publishes the events of composites.
    struct ToRing {
        Publisher& of;
        template <class Event>
        std::uint64_t operator()(const Event& event) const noexcept {
            if (of.writer_.publish(event)) of.published_.add();
            return of.writer_.newest();
        }
    };
    /// Makes composites of an event that was published.
    template <class Event>
    void follow(const Event& event) noexcept {
        if (composites_ != nullptr) [[unlikely]]
            composites_->on(event, writer_.newest(), ToRing{*this});
    }
    template <class Event>
    void publish(const Event& event) noexcept {
        if (instruments_.size() != named_.read()) [[unlikely]]
            name_new();
        if (writer_.publish(event)) published_.add();
        if (event.receive_ticks == 0) [[unlikely]]
            return;
        const auto now = core::ticks();
        latencies_.in_process.record(clock_.nanos(now - event.receive_ticks));
        latencies_.wire.record(clock_.utc_nanos(now) - event.receive_utc_ns);
    }
    void name_new() noexcept {
        for (; named_.read() < instruments_.size(); named_.add()) {
            const auto id = static_cast<feed::InstrumentId>(named_.read());
            writer_.name(id, instruments_.venue(id), instruments_.symbol(id), instruments_.decimals(id));
            if (composites_ != nullptr) composites_->add(id);  // may add an instrument, which is the last one then
        }
    }

    market::RingWriter& writer_;
    const feed::InstrumentTable& instruments_;
    Notices& notices_;
    Composites* composites_{nullptr};
    core::Tally named_;  // number of instruments with names on the board
    core::Tally published_;
    std::uint64_t sessions_{0};
    std::uint64_t session_ends_{0};
    core::Tally beaten_ns_;
    TickClock clock_;
    Latencies latencies_;
};

}  // namespace millpond::gateway
