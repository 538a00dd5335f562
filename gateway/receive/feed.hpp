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

#include "gateway/receive/capture.hpp"
#include "gateway/receive/line.hpp"
#include "gateway/receive/notice.hpp"
#include "gateway/receive/publisher.hpp"
#include "gateway/receive/request_client.hpp"
#include "gateway/receive/request_stream.hpp"
#include "gateway/receive/sessions_apart.hpp"
#include "gateway/receive/soupbin_receiver.hpp"
#include "gateway/settings/config.hpp"
#include "service/last_error.hpp"

namespace millpond::gateway {

/// A table of fixed size that a decoder keeps.
struct FeedTable {
    std::string_view name;  ///< "orders"
    std::uint64_t capacity{0};
    std::string_view bound;  ///< Configuration key that sets its size.
};

/// Counters of a feed for findings and the log.
struct FeedHealth {
    /// Counts of the feed's table.
    struct Table {
        std::uint64_t used{0};
        std::uint64_t refused{0};  ///< Entries that did not fit.
        std::uint64_t clears{0};   ///< Clear events, after which the table is empty.
    };
    std::uint64_t malformed{0};         ///< Datagrams that were not decoded.
    std::uint64_t rejected{0};          ///< Messages that were rejected, or of an unknown type.
    std::uint64_t missing{0};           ///< Missing sequence numbers.
    std::uint64_t strays{0};            ///< Datagrams of another session that was not confirmed.
    std::uint64_t refused_prices{0};    ///< Orders and levels with prices that books cannot hold.
    std::uint64_t crossed{0};           ///< Books that were crossed or locked while their instrument traded.
    std::uint64_t books_incomplete{0};  ///< Books of a feed with depth or orders that are incomplete now.
    Table table{};                      ///< Zeros if the decoder has no table.
};

/// State of a rebuild of a feed's books.
struct Rebuilding {
    bool wanted{false};                       ///< The books are incomplete.
    service::LastError::Report last_failure;  ///< Last failed attempt; its time is 0 if none has failed.
};

/// A feed of a receive thread, in any format (FeedOf): its sockets and its decoder. The receive thread makes one
/// virtual call for each poll, and none for a datagram.
///
/// Threads: poll, holding, beat and finish on the receive thread; set_captured_as before it starts; the rest on any.
class Feed {
public:
    using CounterVisitor =
        std::function<void(std::string_view name, std::string_view help, const core::Tally& counter)>;
    using LineVisitor = std::function<void(std::string_view name, const Line& line)>;
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
    /// Reads the kernel's drop counter, reports losses that no sequence number shows, and passes the midnight to the
    /// decoder; call it a few times a second.
    virtual void beat(Publisher& publisher) noexcept = 0;
    /// Writes held datagrams to the capture; call it after the last poll.
    virtual void finish(Capture& capture) noexcept = 0;
    /// Sets the numbers of lines A (`number`) and B (the next one) in the capture.
    virtual void set_captured_as(std::uint32_t number) = 0;
    /// Sets the start of the exchange's day, which the decoder uses after the next beat.
    void set_midnight(std::int64_t utc_ns) noexcept { midnight_utc_ns_.store(utc_ns, std::memory_order_relaxed); }
    /// Makes a feed with orders publish its complete books again, in slices between datagrams, for readers that have
    /// lost some: after the next beat, at most once in ten seconds.
    void request_books() noexcept { are_books_requested_.store(true, std::memory_order_relaxed); }

    [[nodiscard]] const FeedConfig& config() const noexcept { return config_; }
    /// Line A.
    [[nodiscard]] virtual Line receiver() const noexcept = 0;
    /// The connection of a feed that receives by TCP; null for others.
    [[nodiscard]] virtual const SoupBinReceiver* connection() const noexcept = 0;
    [[nodiscard]] virtual const feed::DecodeCounters& counters() const noexcept = 0;
    [[nodiscard]] virtual FeedHealth health() const noexcept = 0;
    /// All counters of the decoder.
    virtual void visit_counters(const CounterVisitor& visit) const = 0;
    /// Counters that the lines share, and those of book rebuilds.
    virtual void visit_line_counters(const CounterVisitor& visit) const = 0;
    /// Visits line "a" and, if there is one, line "b".
    virtual void for_each_line(const LineVisitor& visit) const = 0;
    /// Visits the counters and sequence counters of each line if there are two.
    virtual void for_each_arbitrated(const ArbitratedVisitor& visit) const = 0;
    /// The sessions of line 0 ("a") or 1 and of the feed, while they differ and the line is ignored.
    [[nodiscard]] virtual std::optional<SessionsApart> sessions_apart(std::size_t line) const = 0;
    /// The re-request server, by UDP and by TCP; null if there is none.
    [[nodiscard]] virtual const RequestClient* request_server() const noexcept = 0;
    [[nodiscard]] virtual const RequestStream* request_stream() const noexcept = 0;
    /// The decoder's table; nullopt if it has none.
    [[nodiscard]] virtual std::optional<FeedTable> table() const noexcept = 0;
    /// Number of the first message received, of a feed whose instruments are known only from their quotes, if the
    /// session started before it; otherwise 0.
    [[nodiscard]] virtual std::uint64_t joined_at() const noexcept = 0;
    /// Whether its quotes come from order books, which stay incomplete after a gap.
    [[nodiscard]] virtual bool keeps_books() const noexcept = 0;
    /// State of book rebuilds; nullopt if books are not rebuilt.
    [[nodiscard]] virtual std::optional<Rebuilding> rebuilding() const = 0;

    /// Time of the beat after the last datagram of the feed, by core::monotonic_nanos(); 0 before the first. Excludes
    /// datagrams of other sessions and channels, and undecodable ones.
    [[nodiscard]] const core::Tally& heard_ns() const noexcept { return heard_ns_; }
    /// Time for which datagrams had been waiting behind a gap at the last beat.
    [[nodiscard]] const core::Tally& waits_ns() const noexcept { return waits_ns_; }
    /// 1 from the datagram that ends the session until the next message, otherwise 0.
    [[nodiscard]] const core::Tally& session_over() const noexcept { return session_over_; }
    /// Calls visit(fd) for the descriptor of each socket.
    void for_each_fd(const std::function<void(int)>& visit) const {
        for_each_line([&](std::string_view, const Line& line) { visit(line.fd()); });
        if (const auto* server = request_server()) visit(server->fd());
        if (const auto* stream = request_stream()) visit(stream->fd());
    }

protected:
    [[nodiscard]] std::int64_t midnight() const noexcept { return midnight_utc_ns_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool are_books_requested() const noexcept {
        return are_books_requested_.load(std::memory_order_relaxed);
    }
    void forget_request() noexcept { are_books_requested_.store(false, std::memory_order_relaxed); }
    core::Tally heard_ns_;
    core::Tally waits_ns_;
    core::Tally session_over_;

private:
    FeedConfig config_;
    std::atomic<std::int64_t> midnight_utc_ns_{0};
    std::atomic<bool> are_books_requested_{false};
};

}  // namespace millpond::gateway
