#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include <millpond/core/clock.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/book_rebuilder.hpp>
#include <millpond/feed/rerequester.hpp>
#include <millpond/feed/sequencing.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/receive/capture_ring.hpp"
#include "gateway/receive/feed.hpp"
#include "gateway/receive/request_client.hpp"
#include "gateway/sinks/sink.hpp"
#include "service/last_error.hpp"

namespace millpond::gateway {

/// No captured messages.
struct NoFiles {
    struct History {
        std::string path;
    };
    NoFiles(const History&, const auto&) noexcept {}
    static void read(std::uint64_t, const auto&) noexcept {}
    [[nodiscard]] const std::string& damage() const noexcept { return damage_; }

private:
    std::string damage_;
};

/// Rebuilds incomplete books of a feed in the background: from a snapshot or, without one, from the session's message 1
/// on; from captured files, then by requests to a server, then from copies of the feed's messages, until it reaches the
/// feed's current number. Then the receive thread swaps the books. A failed attempt is repeated after a pause, which
/// doubles.
///
/// Rules has:
/// - Decoder; kRequestsAll, whether all messages of a session may be requested from the server;
/// - Snapshots, which reads snapshots and has the functions of itch::GlimpseReader, of which pause_ns() is the pause
///   until the next snapshot of the same session;
/// - Files, which reads captured messages and has the functions of itch::HistoryReader, or NoFiles;
/// - kSnapshots, kSnapshotsHelp, kFailures and kSkipped: names and help of counters.
///
/// Threads: set_midnight, on_datagram, adopt and beat on the receive thread; counters and state on any.
/// Memory:  feed::BookRebuilder's and `buffer_bytes`, all in the constructor. The receive thread copies into a ring,
///          and only during an attempt; at its end it exchanges the books and publishes their quotes.
template <class Rules>
class BookRebuild {
public:
    using Decoder = typename Rules::Decoder;
    using Books = feed::BookRebuilder<Decoder>;
    using Session = typename Books::Session;
    using Snapshots = typename Rules::Snapshots;
    using Files = typename Rules::Files;

    struct Options {
        std::string feed;                         ///< Name of the feed.
        typename Snapshots::Options snapshots{};  ///< Server of snapshots.
        typename Files::History history{};        ///< Files to read; empty path: none.
        net::SocketAddress server{};              ///< Re-request server; empty: none.
        typename Books::Options books{};
        std::size_t buffer_bytes{std::size_t{16} << 20U};  ///< Capacity for messages of the feed during an attempt.
        std::int64_t timeout_ns{600'000'000'000};          ///< Timeout of an attempt.
        std::int64_t ahead_ns{10'000'000'000};             ///< Time for the feed to reach books that are ahead of it.
        std::int64_t first_pause_ns{1'000'000'000};  ///< Pause after a failure, doubled each time, up to 64 times this.
        feed::RerequesterOptions rerequests{};       ///< Options of the requests.
    };

    /// memory: memory resource of the live decoder. Throws what UdpReceiver and Region throw.
    BookRebuild(const Options& options, service::LogFunction log, std::pmr::memory_resource* memory);
    ~BookRebuild();
    BookRebuild(const BookRebuild&) = delete;
    BookRebuild& operator=(const BookRebuild&) = delete;

    /// Sets the midnight for the next attempt, as ItchDecoder::set_midnight.
    void set_midnight(std::int64_t utc_ns, bool nearest) noexcept {
        midnight_utc_ns_ = utc_ns;
        nearest_ = nearest;
    }

    /// Whether on_datagram needs the datagrams of the feed, in the order in which they are decoded.
    [[nodiscard]] bool is_running() const noexcept { return running_; }
    void on_datagram(std::span<const std::byte> datagram) noexcept {
        ring_.put(0, 0, datagram);
        copied_bytes_.add(datagram.size() + kCopyBytes);
    }

    /// Moves the books to the decoder when they are ready; call it after the feed's datagrams were decoded.
    template <feed::EventHandler Handler>
    void adopt(Decoder& decoder, std::uint16_t channel, Handler& handler);

    /// Publishes what `adopt` left of the directory and bands of the books, up to `max` instruments; those of a session
    /// that is over are dropped. Returns the number of instruments, 0 if none is left.
    template <feed::EventHandler Handler>
    std::size_t publish_announcements(const Decoder& decoder, std::size_t max, Handler& handler) {
        if (!announces_) [[likely]]
            return 0;
        if (decoder.session() != session_) books_.drop_announcements();
        const auto count = books_.publish_announcements(max, handler);
        announces_ = books_.has_announcements();
        return count;
    }

    /// Starts an attempt when one is due, and ends one that is no longer needed; call it a few times a second.
    void beat(const Decoder& decoder) noexcept;

    /// Whether the books are incomplete, and why the newest attempt failed.
    [[nodiscard]] Rebuilding state() const {
        return {.wanted = wanted_.load(std::memory_order_relaxed), .last_failure = failure_.read()};
    }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        visitor("rebuilds", "Successful rebuilds of incomplete books.", rebuilds_);
        visitor("rebuild_failures", "Failed rebuilds of incomplete books.", failures_);
        if (snapshots_) {
            visitor(Rules::kSnapshots, Rules::kSnapshotsHelp, snapshots_->snapshots());
            visitor(Rules::kFailures, "Snapshots that could not be read or used.", snapshot_failures_);
            visitor(Rules::kSkipped, "Messages of the feed during a snapshot that the snapshot had already.", skipped_);
            snapshots_->visit_counters(visitor);
        }
        visitor("rebuild_answers_refused", "Answers of the server with messages that the feed has not shown.",
                refused_answers_);
        visitor("rebuild_requests", "Requests to the server for past messages.", rerequester_.requests());
    }

private:
    /// The phase, which determines the thread that uses the books and reads the ring.
    enum class Phase : std::uint8_t {
        none,      ///< Idle: the receive thread may start an attempt.
        building,  ///< The rebuild thread builds; the receive thread copies datagrams into the ring.
        ready,     ///< The receive thread applies the rest of the ring and swaps the books.
        failed,    ///< The receive thread stops copying.
        emptying,  ///< The rebuild thread empties the ring.
    };

    static constexpr std::size_t kCopyBytes = 32;  // of a copy beside its datagram, at most

    [[nodiscard]] std::string session_name() const {
        return std::string{feed::Sequencing<Decoder>::name_of(session_).view()};
    }
    void run();
    void attempt();
    [[nodiscard]] bool take_snapshot();
    [[nodiscard]] bool has_other_sources() const noexcept {
        return (Rules::kRequestsAll && server_) || !options_.history.path.empty();
    }
    [[nodiscard]] std::string text_of_overflow() const;
    /// Reads messages before number `until` from the files.
    void read_files(std::uint64_t until);
    [[nodiscard]] bool read_on(std::uint64_t last);
    [[nodiscard]] bool catch_up();
    [[nodiscard]] bool apply_copies();
    [[nodiscard]] bool request(std::uint64_t last);
    void fail_ahead();
    void fail_refused();
    [[nodiscard]] bool fail_unsound();
    [[nodiscard]] bool fail_snapshot(const std::string& why);
    [[nodiscard]] bool fail_attempt(const std::string& why);
    void end_attempt(bool succeeded) noexcept;

    Options options_;
    service::LogFunction log_;
    Books books_;
    CaptureRing ring_;
    std::optional<Snapshots> snapshots_;
    std::optional<RequestClient> server_;
    feed::Rerequester<Session> rerequester_;
    service::LastError failure_;
    core::Tally rebuilds_;
    core::Tally failures_;
    core::Tally snapshot_failures_;
    core::Tally skipped_;
    core::Tally refused_answers_;
    core::Tally copied_bytes_;  // of all attempts
    std::atomic<bool> wanted_{false};

    std::atomic<Phase> phase_{Phase::none};
    std::atomic<bool> unwanted_{false};  // the attempt need not continue
    std::atomic<bool> stopping_{false};
    std::atomic<std::uint64_t> reached_{0};  // the feed's next number at the last beat
    // Members of the receive thread; the rebuild thread reads the first three during its phase.
    Session session_{};
    std::uint64_t target_{0};  // the feed's next number at the start of the attempt
    std::int64_t attempt_midnight_ns_{0};
    std::int64_t attempt_now_ns_{0};  // 0: not nearest
    std::int64_t midnight_utc_ns_{0};
    bool nearest_{false};
    bool running_{false};
    std::int64_t due_ns_{0};
    std::int64_t pause_ns_{0};
    std::int64_t next_snapshot_ns_{0};  // when the session's next snapshot may be requested
    bool refused_{false};               // the decoder refused the finished books
    bool announces_{false};             // the books that were adopted have announcements left
    bool is_ahead_{false};              // the feed did not reach the books in time
    std::int64_t ready_ns_{0};          // when the books became ready; 0: they are not
    // Members of the rebuild thread.
    std::int64_t until_ns_{0};
    std::int64_t snapshot_pause_ns_{0};  // the receive thread reads it at the end of the attempt
    bool has_snapshot_{false};           // the books began with a snapshot
    bool ends_in_snapshot_{false};       // with which the session ends
    std::uint64_t lost_before_{0};       // copies lost before the attempt
    std::uint64_t copied_before_{0};
    std::uint64_t behind_snapshot_{0};  // number of the first message that the snapshot does not have
    std::uint64_t trusted_from_{0};
    bool unproven_{false};  // messages of the files may be from another day
    std::optional<Files> files_;
    std::uint64_t read_on_from_{0};  // required number when the files were last read
    std::thread thread_;
};

template <class Rules>
template <feed::EventHandler Handler>
void BookRebuild<Rules>::adopt(Decoder& decoder, std::uint16_t channel, Handler& handler) {
    if (!running_) return;
    const auto phase = phase_.load(std::memory_order_acquire);  // sync "handed on": end_attempt's partner in run
    if (phase == Phase::failed) return end_attempt(false);
    if (phase != Phase::ready) return;
    for (auto entry = ring_.front(); entry; entry = ring_.front()) {
        books_.add(entry->bytes);
        ring_.pop();
    }
    const bool goes_on = !unwanted_.load(std::memory_order_relaxed);
    if (goes_on && books_.next() > decoder.sequence().next()) return;  // the sources are ahead of the feed
    const feed::Arrival arrival{.receive_utc_ns = core::utc_nanos(), .receive_ticks = 0, .channel = channel};
    const bool done = books_.hand_over(decoder, arrival, handler);
    if (done) rebuilds_.add();
    announces_ = done && books_.has_announcements();
    refused_ = !done && goes_on;
    end_attempt(done);
}

}  // namespace millpond::gateway
