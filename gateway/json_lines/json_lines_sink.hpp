#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>

#include "gateway/json_lines/depth_books.hpp"
#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/snapshot.hpp"
#include "gateway/json_lines/subscriber.hpp"
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
    void note_reload() override { close_reason_ = "a reload closes this sink; connect again"; }

protected:
    /// Reason in the final message to each client.
    [[nodiscard]] std::string_view close_reason() const noexcept { return close_reason_; }
    [[nodiscard]] const LineLog& lines() const noexcept { return lines_; }
    [[nodiscard]] const Snapshot& snapshot() const noexcept { return snapshot_; }
    [[nodiscard]] Source source() noexcept { return {lines_, snapshot_, books_}; }
    /// Notifies the subscriber of new instruments and of evicted lines until leave().
    void join(Subscriber& subscriber) { subscribers_.push_back(&subscriber); }
    void leave(const Subscriber& subscriber);
    /// Finds the oldest line that a subscriber has not sent; call it when subscribers have advanced.
    void find_slowest() noexcept;

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
    std::vector<Subscriber*> subscribers_;
};

}  // namespace millpond::gateway::json_lines
