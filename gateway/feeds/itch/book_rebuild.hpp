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
#include <millpond/feed/itch_rebuild.hpp>
#include <millpond/feed/rerequester.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/feeds/itch/history.hpp"
#include "gateway/health/last_error.hpp"
#include "gateway/receive/capture_ring.hpp"
#include "gateway/receive/feed.hpp"
#include "gateway/receive/request_client.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::itch {

/// Rebuilds incomplete books of an ITCH feed, separately from the live ones: from the session's message 1
/// on, from captured files, then by requests to a MoldUDP64 server, then from copies of the feed's messages, until
/// both are at the same number. Then the receive thread exchanges the books. A failed attempt is repeated after a
/// pause, which doubles.
///
/// Threads: set_midnight, live, look and beat on the receive thread; the rest on a separate thread;
///          counters and state on any.
/// Memory:  feed::ItchRebuild's and `buffer_bytes`, all in the constructor. The receive thread copies into a ring, and
///          only during an attempt; at its end it exchanges the books and publishes their quotes.
class BookRebuild {
public:
    struct Options {
        std::string feed;             ///< Its name.
        History history{};            ///< No path: none.
        net::SocketAddress server{};  ///< Empty: none.
        feed::ItchRebuild::Options books{};
        std::size_t buffer_bytes{std::size_t{16} << 20U};  ///< For messages of the feed in the meantime.
        std::int64_t longest_ns{600'000'000'000};          ///< Of one attempt.
        std::int64_t first_pause_ns{1'000'000'000};        ///< After a failure; doubled after each, up to 64 times.
        feed::Rerequester::Options asking{};               ///< The server.
    };

    /// memory: the live decoder's. Throws what UdpReceiver and Region throw.
    BookRebuild(const Options& options, service::Say say, std::pmr::memory_resource* memory);
    ~BookRebuild();
    BookRebuild(const BookRebuild&) = delete;
    BookRebuild& operator=(const BookRebuild&) = delete;

    /// As ItchDecoder's; from the next attempt on.
    void set_midnight(std::int64_t utc_ns) noexcept { midnight_utc_ns_ = utc_ns; }

    /// Whether `live` needs the datagrams of the feed's decoder, in order.
    [[nodiscard]] bool takes() const noexcept { return takes_; }
    void live(std::span<const std::byte> datagram) noexcept { ring_.put(0, 0, datagram); }

    /// After the feed's datagrams were decoded: gives the decoder its books when they are ready.
    template <feed::EventHandler Handler>
    void look(feed::ItchDecoder& decoder, std::uint16_t channel, Handler& handler);

    /// A few times a second: begins an attempt when one is due, and ends one that is no longer needed.
    void beat(const feed::ItchDecoder& decoder) noexcept;

    /// Whether the books are incomplete, and why the newest attempt failed.
    [[nodiscard]] Rebuilding state() const {
        return {.wanted = wanted_.load(std::memory_order_relaxed), .last_failure = failure_.read()};
    }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        visitor("rebuilds", "Successful rebuilds of incomplete books.", rebuilds_);
        visitor("rebuild_failures", "Failed rebuilds of incomplete books.", failures_);
        visitor("rebuild_requests", "Requests to the server for past messages.", asker_.requests());
    }

private:
    /// The phase: each passes on to the next, and uses the books and the ring's end only during its phase.
    enum class Turn : std::uint8_t {
        none,     ///< The receive thread may begin an attempt.
        builder,  ///< The thread builds; the receive thread puts copies into the ring.
        ready,    ///< The receive thread applies the rest of the ring and swaps the books.
        failed,   ///< The receive thread stops putting.
        emptier,  ///< The thread empties the ring.
    };

    void run();
    void attempt();
    /// What is wanted before the end of `until`, and what the feed has reached meanwhile.
    void read_files(std::uint64_t until);
    [[nodiscard]] bool read_on(std::uint64_t last);
    [[nodiscard]] bool catch_up();
    [[nodiscard]] bool take_live();
    [[nodiscard]] bool ask(std::uint64_t last);
    [[nodiscard]] bool gave_up(const std::string& why);
    void end_attempt(bool succeeded) noexcept;

    Options options_;
    service::Say say_;
    feed::ItchRebuild books_;
    CaptureRing ring_;
    std::optional<RequestClient> server_;
    feed::Rerequester asker_;
    health::LastError failure_;
    core::Tally rebuilds_;
    core::Tally failures_;
    std::atomic<bool> wanted_{false};

    std::atomic<Turn> turn_{Turn::none};
    std::atomic<bool> unwanted_{false};  // the attempt need not continue
    std::atomic<bool> stopping_{false};
    std::atomic<std::uint64_t> reached_{0};  // the feed's next number a moment ago
    // The receive thread's; the builder reads the first three during its turn.
    feed::moldudp64_layout::Session session_{};
    std::uint64_t goal_{0};  // the feed's next number when the attempt began
    std::int64_t attempt_midnight_ns_{0};
    std::int64_t midnight_utc_ns_{0};
    bool takes_{false};
    std::int64_t due_ns_{0};
    std::int64_t pause_ns_{0};
    bool refused_{false};  // the books were ready, and did not fit
    // The builder's.
    std::int64_t until_ns_{0};
    std::uint64_t believed_from_{0};
    bool unproven_{false};  // messages of files may be another day's
    std::optional<HistoryReader> files_;
    std::uint64_t read_on_from_{0};  // required number when the files were last read
    std::thread thread_;
};

template <feed::EventHandler Handler>
void BookRebuild::look(feed::ItchDecoder& decoder, std::uint16_t channel, Handler& handler) {
    if (!takes_) return;
    const auto turn = turn_.load(std::memory_order_acquire);  // sync "handed on": end_attempt's partner in run
    if (turn == Turn::failed) return end_attempt(false);
    if (turn != Turn::ready) return;
    for (auto entry = ring_.front(); entry; entry = ring_.front()) {
        books_.take(entry->bytes);
        ring_.pop();
    }
    const bool goes_on = !unwanted_.load(std::memory_order_relaxed);
    if (goes_on && books_.next() > decoder.sequence().next()) return;  // the files are ahead of the feed
    const feed::Arrival arrival{.receive_utc_ns = core::utc_nanos(), .receive_ticks = 0, .channel = channel};
    const bool done = books_.hand_over(decoder, arrival, handler);
    if (done) rebuilds_.add();
    refused_ = !done && goes_on;
    end_attempt(done);
}

}  // namespace millpond::gateway::itch
