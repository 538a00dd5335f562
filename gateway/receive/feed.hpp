#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <millpond/core/tally.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/sequence_tracker.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/health/last_error.hpp"
#include "gateway/receive/capture.hpp"
#include "gateway/receive/notice.hpp"
#include "gateway/receive/publisher.hpp"
#include "gateway/receive/request_client.hpp"
#include "gateway/receive/sessions_apart.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// A table of fixed size that a decoder keeps; its counters are `<name>_live` and `<name>_refused`.
struct FeedTable {
    std::string_view name;  ///< "orders"
    std::uint64_t capacity{0};
    std::string_view bound;  ///< The key of the configuration that limits it.
};

/// State of the rebuilding of a feed's books.
struct Rebuilding {
    bool wanted{false};                    ///< The books are incomplete.
    health::LastError::Said last_failure;  ///< Its time is 0 when no attempt has failed.
};

/// One feed of a receive thread, whatever its format (FeedLine): where its datagrams come in, and what reads them. The
/// receive thread makes one indirect call for each poll, and none for a datagram.
///
/// Threads: poll, holding, beat and finish on the receive thread; set_captured_as before it starts; the rest on any.
class Feed {
public:
    using CounterVisitor =
        std::function<void(std::string_view name, std::string_view help, const core::Tally& counter)>;
    using LineVisitor = std::function<void(std::string_view name, const net::UdpReceiver& receiver)>;
    using ArbitratedVisitor = std::function<void(std::string_view name, const feed::LineCounters& counters,
                                                 const feed::SequenceCounters& sequence)>;

    explicit Feed(const FeedConfig& config) : config_(config) {}
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;
    virtual ~Feed() = default;

    /// Decodes and publishes received datagrams; returns their number. capture: stores the raw datagrams; may be
    /// null.
    virtual std::size_t poll(Publisher& publisher, Notices& notices, Capture* capture) = 0;
    /// Whether datagrams wait behind a gap for a timeout.
    [[nodiscard]] virtual bool holding() const noexcept = 0;
    /// To be called a few times a second: the kernel's drop counter, losses that no number shows, and the day.
    virtual void beat(Publisher& publisher) noexcept = 0;
    /// Called after the last poll.
    virtual void finish(Capture& capture) noexcept = 0;
    /// Its number in the capture; line B's is the next.
    virtual void set_captured_as(std::uint32_t number) = 0;
    /// When the exchange's day began; known to the decoder after the next beat.
    void set_midnight(std::int64_t utc_ns) noexcept { midnight_utc_ns_.store(utc_ns, std::memory_order_relaxed); }

    [[nodiscard]] const FeedConfig& config() const noexcept { return config_; }
    /// Line A's.
    [[nodiscard]] virtual const net::UdpReceiver& receiver() const noexcept = 0;
    [[nodiscard]] virtual const feed::DecodeCounters& counters() const noexcept = 0;
    /// All counters of the decoder.
    virtual void visit_counters(const CounterVisitor& visit) const = 0;
    /// Counters that the lines share, and those of rebuilding books.
    virtual void visit_line_counters(const CounterVisitor& visit) const = 0;
    /// The inputs of market data: line "a", and "b" if there is one.
    virtual void for_each_line(const LineVisitor& visit) const = 0;
    /// The counters and sequence counters of each line, if there are two.
    virtual void for_each_arbitrated(const ArbitratedVisitor& visit) const = 0;
    /// Of line 0 ("a") or 1, if it brings another session than the feed's and is ignored.
    [[nodiscard]] virtual std::optional<SessionsApart> sessions_apart(std::size_t line) const = 0;
    /// The server for re-requests, or null.
    [[nodiscard]] virtual const RequestClient* request_server() const noexcept = 0;
    /// Empty if the decoder has no table.
    [[nodiscard]] virtual std::optional<FeedTable> table() const noexcept = 0;
    /// Empty if no books are rebuilt.
    [[nodiscard]] virtual std::optional<Rebuilding> rebuilding() const = 0;

    /// core::monotonic_nanos() of the beat after the last datagram that belongs to the feed; 0 before the first. Those
    /// of another session or channel, and those that cannot be decoded, do not.
    [[nodiscard]] const core::Tally& heard_ns() const noexcept { return heard_ns_; }
    /// 1 from the datagram that ends the session to the next message, otherwise 0.
    [[nodiscard]] const core::Tally& session_over() const noexcept { return session_over_; }
    /// Datagrams of another session that was not confirmed.
    [[nodiscard]] std::uint64_t strays() const {
        std::uint64_t strays = 0;
        const auto add = [&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == "session_strays" || name == "line_strays") strays += tally.read();
        };
        visit_counters(add);
        visit_line_counters(add);
        return strays;
    }
    /// Calls visit(fd) for every descriptor that becomes readable with input.
    void for_each_fd(const std::function<void(int)>& visit) const {
        for_each_line([&](std::string_view, const net::UdpReceiver& receiver) { visit(receiver.fd()); });
        if (const auto* server = request_server()) visit(server->fd());
    }

protected:
    [[nodiscard]] std::int64_t midnight() const noexcept { return midnight_utc_ns_.load(std::memory_order_relaxed); }
    core::Tally heard_ns_;
    core::Tally session_over_;

private:
    FeedConfig config_;
    std::atomic<std::int64_t> midnight_utc_ns_{0};
};

}  // namespace millpond::gateway
