#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>

#include "gateway/json_lines/depth_books.hpp"
#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/snapshot.hpp"
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/sinks/client_list.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// A sink that encodes each event as one JSON line, once for all subscribers. Its log accepts every event, so that a
/// slow subscriber falls behind alone.
///
/// Threads: like Sink.
/// Memory:  `backlog` lines, the newest quote and state of each instrument, and its books (DepthBooks).
class JsonLinesSink : public Sink {
public:
    /// backlog: lines, a power of two.
    /// Throws service::OutOfMemory that names the backlog.
    explicit JsonLinesSink(std::size_t backlog);

    [[nodiscard]] std::size_t available() const noexcept override { return kRound; }
    [[nodiscard]] Delivery mode() const noexcept override { return Delivery::every; }
    void open(const market::RingReader& ring) override { books_.open(ring); }
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    void board(const feed::Status& status, std::uint64_t number) override;
    void board(const feed::Level& level, std::uint64_t number) override;
    Admission on(const feed::Quote& quote, std::uint64_t number) override;
    Admission on(const feed::Trade& trade, std::uint64_t number) override;
    Admission on(const feed::TradeBreak& broken, std::uint64_t number) override;
    Admission on(const feed::Order& order, std::uint64_t number) override;
    Admission on(const feed::Level& level, std::uint64_t number) override;
    Admission on(const feed::Imbalance& imbalance, std::uint64_t number) override;
    Admission on(const feed::Band& band, std::uint64_t number) override;
    Admission on(const feed::Definition& definition, std::uint64_t number) override;
    Admission on(const feed::Status& status, std::uint64_t number) override;
    Admission on(const feed::Gap& gap, std::uint64_t number) override;
    Admission on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    [[nodiscard]] std::uint64_t held() const noexcept override { return 0; }
    [[nodiscard]] std::shared_ptr<ClientList> client_list() const noexcept override { return client_list_; }
    void note_reload() override { close_reason_ = "a reload closes this sink; connect again"; }

protected:
    /// Reason in the final message to each client.
    [[nodiscard]] std::string_view close_reason() const noexcept { return close_reason_; }
    [[nodiscard]] const LineLog& lines() const noexcept { return lines_; }
    [[nodiscard]] const Snapshot& snapshot() const noexcept { return snapshot_; }
    [[nodiscard]] const DepthBooks& books() const noexcept { return books_; }
    [[nodiscard]] Source source() noexcept { return {lines_, snapshot_, books_}; }
    /// Notifies the subscriber of new instruments and of evicted lines until leave(). peer: its address.
    void join(Subscriber& subscriber, std::string_view peer);
    void leave(const Subscriber& subscriber);
    /// Finds the oldest line that a subscriber has not sent; call it when subscribers have advanced.
    void find_slowest() noexcept;
    /// Publishes the list of clients once a second. Returns those that an operator disconnects; the caller ends them.
    [[nodiscard]] std::vector<Subscriber*> update_clients(std::int64_t monotonic_ns);
    static constexpr std::string_view kDisconnected = "an operator has closed this connection";

private:
    static constexpr std::size_t kRound = 1'024;  ///< Events between two polls of the sockets.

    void evict_oldest();
    [[nodiscard]] Line& append(LineKind kind, feed::InstrumentId id, std::uint64_t events = 1);
    /// Ends the instrument's group before the line of a quote or trade.
    template <class Event>
    void end_group(const Event& event, std::uint64_t number);
    void write_changes(feed::InstrumentId id, std::span<const BookChange> changes);
    /// Appends an event of an instrument that the snapshot does not keep.
    template <class Event>
    Admission pass_on(const Event& event, std::uint64_t number);

    std::string_view close_reason_{"the gateway is stopping"};
    LineLog lines_;
    Snapshot snapshot_;
    DepthBooks books_;
    std::uint64_t slowest_{0};  // the oldest line that a subscriber has not sent
    /// A client, and what the list of clients needs of it.
    struct Joined {
        Subscriber* subscriber;
        std::uint64_t id;
        std::string peer;
        std::int64_t connected_utc_ns;
        std::uint64_t delivered;  // when the list was last published
    };
    /// The log's end at an earlier time.
    struct EndMark {
        std::uint64_t line{0};
        std::int64_t monotonic_ns{0};
    };

    /// For how long, at least, the line has been in the log.
    [[nodiscard]] std::int64_t age(std::uint64_t line, std::int64_t monotonic_ns) const noexcept;

    std::vector<Joined> subscribers_;
    std::uint64_t joined_{0};  // clients since the start
    std::shared_ptr<ClientList> client_list_{std::make_shared<ClientList>()};
    std::int64_t listed_ns_{0};
    std::array<EndMark, 64> marks_{};  // of the last minute, each at its number modulo the size
    std::uint64_t next_mark_{0};
};

}  // namespace millpond::gateway::json_lines
