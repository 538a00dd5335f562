#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/engine/detail/participant.hpp>
#include <millpond/engine/send_outcome.hpp>
#include <millpond/engine/session_handle.hpp>
#include <millpond/fix/session.hpp>
#include <millpond/metrics/latency_histogram.hpp>
#include <millpond/metrics/registry.hpp>

namespace millpond::engine::detail {

/// A message on its way through a lane.
struct Outgoing {
    void* message{nullptr};
    std::uint64_t token{0};
    std::int64_t deadline_utc_ns{0};
    std::uint64_t handed_ticks{0};   ///< When it was handed over.
    std::uint64_t acquire_ticks{0};  ///< How long its memory took to get.
};

/// The connection of a session, as its senders see it.
class SenderHost {
public:
    [[nodiscard]] virtual fix::Session& session() noexcept = 0;
    /// Whether the connection has so much to write that it takes no more now.
    [[nodiscard]] virtual bool congested() const = 0;
    /// The time of what is sent now.
    [[nodiscard]] virtual core::Moment stamp() const noexcept = 0;

protected:
    ~SenderHost() = default;
};

/// The part of a sender that works on the I/O thread and knows nothing of the message's type: takes what is most
/// urgent, has it encoded into the session's store, follows it until the socket has it.
///
/// Threads: close, count_refused, refused and closed on any; the counters and histograms may be read on any; the rest
///          on the I/O thread.
/// Memory:  one entry for each message in flight, and four histograms, taken in the constructor.
class Sender {
public:
    struct Counters {
        core::Tally taken;          ///< Messages taken from the lanes.
        core::Tally sent;           ///< Messages with a number, handed to the connection.
        core::Tally kept;           ///< Messages with a number that stay in the store: there was no session.
        core::Tally written;        ///< Messages that the socket took.
        core::Tally not_written;    ///< Messages with a number whose connection ended first.
        core::Tally retried;        ///< Looks at a message that found the connection busy.
        core::Tally expired;        ///< Failed: the deadline was over.
        core::Tally not_logged_on;  ///< Failed: no session.
        core::Tally too_busy;       ///< Failed: busy too often.
        core::Tally not_encoded;    ///< Failed: the encoder refused, or it was too long.
        core::Tally shut_down;      ///< Failed: the sender ended.
        core::Tally in_flight;      ///< Messages with a number that the socket has not taken, now.
    };
    struct Latencies {
        metrics::LatencyHistogram acquire;  ///< Getting memory for the message.
        metrics::LatencyHistogram queue;    ///< From handing over until the I/O thread took it.
        metrics::LatencyHistogram encode;   ///< Into the store, its commit included.
        metrics::LatencyHistogram write;    ///< From there until the socket had it.
    };

    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    /// Sends up to `most` messages, and more while is_filling. True when there may be more to do at once; false when
    /// there is nothing, or the connection must move first.
    [[nodiscard]] bool pump(SenderHost& host, core::Moment now, std::size_t most);
    /// The socket has every message up to this number, and all from before `resets` resets of the store.
    /// True: a message that waited because of max_in_flight may be sent.
    [[nodiscard]] bool on_written(std::uint64_t sequence, std::uint64_t resets) noexcept;
    void on_disconnect() noexcept;
    /// The session has logged on.
    virtual void on_logon(const fix::Session& session) noexcept { static_cast<void>(session); }
    /// The peer asked for messages that the store no longer has.
    virtual void on_history_lost(const fix::LostHistory& lost) noexcept { static_cast<void>(lost); }
    /// The monotonic time at which a message that waits at the front expires; kNever: never.
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept { return staged_full_ ? staged_deadline_ns_ : kNever; }
    /// Whether it has neither messages that wait nor such in flight.
    [[nodiscard]] bool idle() noexcept { return !staged_full_ && first_ == last_ && (is_given_up_ || depth() == 0); }
    /// Reports everything that waits as failed, unless it outlives the session.
    void fail_all(SendFailure failure) noexcept;

    /// Producers are refused from now on.
    void close() noexcept { closed_.store(true, std::memory_order_release); }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    [[nodiscard]] const Latencies& latencies() const noexcept { return latencies_; }
    /// Messages that found their lane full, or the sender closed.
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
    /// Messages that wait in the lanes.
    [[nodiscard]] virtual std::size_t depth() const noexcept = 0;

    /// labels: in addition to `session` and `sender`.
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry,
                                                                 const std::string& sender_name) const;

protected:
    Sender(SessionHandle& session, const SenderOptions& options);
    ~Sender() = default;

    /// To be called at the end of the derived class's constructor, and at the beginning of its destructor.
    void attach() { session_->attach(*this); }
    void detach() noexcept { session_->detach(*this); }

    void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }
    void signal() noexcept { session_->signal(); }

    /// The most urgent message that waits. False when there is none.
    [[nodiscard]] virtual bool take(Outgoing& into) noexcept = 0;
    /// Session::send of the message.
    [[nodiscard]] virtual bool send(fix::Session& session, const Outgoing& outgoing, core::Moment now) = 0;
    /// Session::keep of the message.
    [[nodiscard]] virtual bool keep(fix::Session& session, const Outgoing& outgoing, core::Moment now) = 0;
    /// Whether so much waits that messages of WhileDown::keep wait for the connection no longer: what it cannot take
    /// ends it, and lies in the store.
    [[nodiscard]] virtual bool is_filling() const noexcept { return false; }
    /// Whether what waits goes to the session when that is there again.
    [[nodiscard]] virtual bool outlives_the_session() const noexcept { return false; }
    /// The message is done with.
    virtual void release(const Outgoing& outgoing) noexcept = 0;
    virtual void tell_sent(const Sent& sent) noexcept = 0;
    virtual void tell_failed(const Outgoing& outgoing, SendFailure failure) noexcept = 0;

private:
    struct InFlight {
        std::uint64_t token{0};
        std::uint64_t sequence{0};
        std::uint64_t encoded_ticks{0};
        std::uint64_t resets{0};  // of the store before it
    };
    enum class Step : std::uint8_t { done, wait };

    [[nodiscard]] Step send_staged(SenderHost& host, core::Moment now);
    [[nodiscard]] Step keep_staged(SenderHost& host);
    [[nodiscard]] Step busy() noexcept;
    void release_staged() noexcept;
    void fail_staged(SendFailure failure) noexcept;
    [[nodiscard]] core::Tally& tally_of(SendFailure failure) noexcept;
    void settle(bool written) noexcept;

    SessionHandle* session_;
    SenderOptions options_;
    Outgoing staged_{};  // taken from its lane, not sent yet
    bool staged_full_{false};
    bool is_given_up_{false};                  // what waits outlives the session, which is about to end
    std::int64_t staged_deadline_ns_{kNever};  // monotonic
    std::uint32_t attempts_{0};                // how often the staged message found the connection busy
    std::vector<InFlight> in_flight_;
    std::size_t first_{0};
    std::size_t last_{0};
    core::TickRate rate_;
    Counters counters_;
    Latencies latencies_;
    std::atomic<bool> closed_{false};
    std::atomic<std::uint64_t> refused_{0};
};

}  // namespace millpond::engine::detail
