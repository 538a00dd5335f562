#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/moment.hpp>
#include <millpond/core/tally.hpp>
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
    std::uint64_t handed_ticks{0};   ///< Time of try_send or publish.
    std::uint64_t acquire_ticks{0};  ///< Duration of its allocation.
};

class Sender;

/// Interface of a session to which senders are attached.
///
/// Threads: any.
class SenderPort {
public:
    virtual void attach(Sender& sender) = 0;
    virtual void detach(Sender& sender) noexcept = 0;
    /// Wakes the session's I/O thread to check for messages.
    virtual void signal() noexcept = 0;

protected:
    ~SenderPort() = default;
};

/// The connection of a session, as its senders see it.
class SenderHost {
public:
    [[nodiscard]] virtual fix::Session& session() noexcept = 0;
    /// Whether the connection accepts no more output for now.
    [[nodiscard]] virtual bool congested() const = 0;
    /// Time of the messages that are being sent.
    [[nodiscard]] virtual core::Moment stamp() const noexcept = 0;

protected:
    ~SenderHost() = default;
};

/// The part of a sender on the I/O thread that does not depend on the message's type: pops the most urgent message, has
/// it encoded into the session's store, and reports when it is written to the socket.
///
/// Threads: close, count_refused, refused and closed on any; the counters and histograms may be read on any; the rest
///          on the I/O thread.
/// Memory:  one entry for each message in flight, and four histograms, allocated in the constructor.
class Sender {
public:
    struct Counters {
        core::Tally popped;         ///< Messages popped from the lanes.
        core::Tally sent;           ///< Messages with a number, handed to the connection.
        core::Tally kept;           ///< Messages stored with a number while the session was not logged on.
        core::Tally written;        ///< Messages written to the socket.
        core::Tally not_written;    ///< Messages with a number whose connection ended first.
        core::Tally retried;        ///< Attempts to send while the connection was busy.
        core::Tally expired;        ///< Failed: the deadline has passed.
        core::Tally not_logged_on;  ///< Failed: the session is not logged on.
        core::Tally too_busy;       ///< Failed: the connection was busy too often.
        core::Tally not_encoded;    ///< Failed: refused by the encoder, or too long.
        core::Tally shut_down;      ///< Failed: the sender ended.
        core::Tally in_flight;      ///< Messages with a number that are not yet written to the socket.
    };
    struct Latencies {
        metrics::LatencyHistogram acquire;  ///< Allocation of the message.
        metrics::LatencyHistogram queue;    ///< From the producer until the I/O thread pops it.
        metrics::LatencyHistogram encode;   ///< Encoding into the store, with the commit.
        metrics::LatencyHistogram write;    ///< From encoding until the message is written to the socket.
    };

    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    /// Sends up to `max_messages`, and more while is_filling. Returns true if there may be more to send at once; false
    /// if no message waits, or the connection must make progress first.
    [[nodiscard]] bool pump(SenderHost& host, core::Moment now, std::size_t max_messages);
    /// Called when messages up to this number are written to the socket. resets: number of resets of the store; all
    /// messages from before the last one are written too. Returns true if a message that waits because of max_in_flight
    /// may be sent.
    [[nodiscard]] bool on_written(std::uint64_t sequence, std::uint64_t resets) noexcept;
    void on_disconnect() noexcept;
    /// Called when the session has logged on.
    virtual void on_logon(const fix::Session& session) noexcept { static_cast<void>(session); }
    /// Called when the peer requested messages that are no longer in the store.
    virtual void on_history_lost(const fix::LostHistory& lost) noexcept { static_cast<void>(lost); }
    /// Monotonic time at which the next message expires; core::kNever if none does.
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept {
        return staged_full_ ? staged_deadline_ns_ : core::kNever;
    }
    /// Whether no message is waiting or in flight.
    [[nodiscard]] bool idle() noexcept { return !staged_full_ && first_ == last_ && (is_given_up_ || depth() == 0); }
    /// Reports all waiting messages as failed, unless they outlive the session.
    void fail_all(SendFailure failure) noexcept;

    /// Refuses later messages of producers.
    void close() noexcept { closed_.store(true, std::memory_order_release); }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    [[nodiscard]] const Latencies& latencies() const noexcept { return latencies_; }
    /// Number of refused messages: their lane was full, or the sender closed.
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
    /// Number of messages waiting in the lanes.
    [[nodiscard]] virtual std::size_t depth() const noexcept = 0;

    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry,
                                                                 const std::string& sender_name) const;

protected:
    Sender(SessionHandle& session, const SenderOptions& options);
    ~Sender() = default;

    // The derived class calls attach at the end of its constructor, and detach at the beginning of its destructor.
    void attach() { port_->attach(*this); }
    void detach() noexcept { port_->detach(*this); }

    void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }
    void signal() noexcept { port_->signal(); }

    /// Pops the most urgent message. Returns false if none waits.
    [[nodiscard]] virtual bool pop(Outgoing& into) noexcept = 0;
    /// Calls Session::send with the message.
    [[nodiscard]] virtual bool send(fix::Session& session, const Outgoing& outgoing, core::Moment now) = 0;
    /// Calls Session::keep with the message.
    [[nodiscard]] virtual bool keep(fix::Session& session, const Outgoing& outgoing, core::Moment now) = 0;
    /// Whether so many messages wait that those of WhileDown::keep no longer wait for the connection. If the connection
    /// cannot write them, it ends, and they are in the store.
    [[nodiscard]] virtual bool is_filling() const noexcept { return false; }
    /// Whether waiting messages are sent when the session exists again.
    [[nodiscard]] virtual bool outlives_the_session() const noexcept { return false; }
    /// Releases the message.
    virtual void release(const Outgoing& outgoing) noexcept = 0;
    virtual void report_sent(const Sent& sent) noexcept = 0;
    virtual void report_failed(const Outgoing& outgoing, SendFailure failure) noexcept = 0;

private:
    struct InFlight {
        std::uint64_t token{0};
        std::uint64_t sequence{0};
        std::uint64_t encoded_ticks{0};
        std::uint64_t resets{0};  // resets of the store before the message
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
    SenderPort* port_;
    SenderOptions options_;
    Outgoing staged_{};  // popped from its lane, not sent yet
    bool staged_full_{false};
    bool is_given_up_{false};                        // the session is about to end; waiting messages outlive it
    std::int64_t staged_deadline_ns_{core::kNever};  // monotonic
    std::uint32_t attempts_{0};                      // attempts to send the staged message
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
