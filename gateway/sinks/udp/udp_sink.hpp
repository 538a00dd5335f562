#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/udp/sent_levels.hpp"
#include "gateway/sinks/udp/settings.hpp"

namespace millpond::gateway::udp {

/// Sends quotes and levels as `quotes` datagrams (feed/quotes_layout.hpp), to chain gateways. A Clear makes receivers
/// discard all of them; the sink then sends those of other feeds and the levels that are left, a few at a time. After a
/// Gap it sends the quotes and levels that are incomplete now. All quotes and levels are repeated evenly over
/// `refresh_seconds`. Trades, orders and states are filtered. For missed ring entries it skips as many sequence
/// numbers, so that receivers see a gap of the same size, and then sends the levels of the board. A datagram is sent
/// when it is full or no other event waits. While the socket is full, events wait in the ring, or quotes are conflated,
/// depending on the mode.
class UdpSink final : public Sink {
public:
    /// session: greater than in any earlier run, such as the UTC time. Throws what net::UdpSender throws.
    UdpSink(const Settings& settings, std::uint64_t session, service::LogFunction log);

    [[nodiscard]] std::size_t available() const noexcept override {
        return closed_count_ == 0 && !clear_asked_ ? kMaxBatch : 0;
    }
    [[nodiscard]] Delivery mode() const noexcept override { return settings_.mode; }
    void open(const market::RingReader& ring) override;
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    void board(const feed::Status&, std::uint64_t) override {}
    void board(const feed::Level& level, std::uint64_t number) override;
    Admission on(const feed::Quote& quote, std::uint64_t number) override;
    Admission on(const feed::Trade& trade, std::uint64_t number) override;
    Admission on(const feed::Level& level, std::uint64_t number) override;
    Admission on(const feed::TradeBreak&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Status&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Gap& gap, std::uint64_t number) override;
    Admission on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void finish() override;
    [[nodiscard]] std::uint64_t held() const noexcept override {
        return open_events_ + closed_events_ + pending_answers_ + waiting_levels_;
    }
    [[nodiscard]] std::uint64_t refused_events() const noexcept override { return dropped_levels_; }
    [[nodiscard]] std::string_view type() const noexcept override { return "udp"; }
    void visit_metrics(const MetricVisitor& visit) const override;
    [[nodiscard]] SinkHealth health() const noexcept override {
        return {.failures = sender_.counters().errors.read() + board_dropped_.read()};
    }
    [[nodiscard]] const net::UdpSender& sender() const noexcept { return sender_; }

private:
    using Entry = feed::QuotesEncoder::Entry;

    /// Events that the sink accepts at a time; each closes one datagram at most.
    static constexpr std::size_t kMaxBatch = 16;
    /// One is filled while the others, closed datagrams, wait for the socket.
    static constexpr std::size_t kBuffers = kMaxBatch + 1;

    /// Silence after which an empty datagram is sent.
    static constexpr std::int64_t kHeartbeatNs = 1'000'000'000;

    /// Interval between batches of entries that are due or repeated: at most 160,000 a second, so that receivers'
    /// buffers do not overflow.
    static constexpr std::int64_t kRepeatEveryNs = 100'000;

    struct Instrument {
        feed::Venue venue;
        feed::Symbol symbol;
        unsigned decimals{feed::kDefaultDecimals};
        feed::Quote quote{};
        std::uint64_t number{0};  ///< Number of the quote's ring entry; 0 if there is none.
        SentLevels sent_levels{};
        std::int64_t levels_utc_ns{0};    ///< The exchange's time of the levels.
        std::uint32_t waiting_levels{0};  ///< Events that were kept and are not in a datagram yet.
        bool quote_due{false};
        bool levels_due{false};
    };

    struct Closed {
        std::span<const std::byte> bytes{};
        std::uint64_t events{0};
    };

    void keep(const feed::Quote& quote, std::uint64_t number);
    /// False if the feed sends fewer levels than the sink.
    [[nodiscard]] bool sends_levels(std::uint16_t channel);
    /// Null if the instrument has none.
    [[nodiscard]] const market::Book* book_of(feed::InstrumentId id) const noexcept {
        return books_ ? books_->find(id) : nullptr;
    }
    /// Adds the levels of an instrument that have changed, and its quote unless it is null. events: number of quotes
    /// from the ring.
    void send(feed::InstrumentId id, const feed::Quote* quote, std::uint64_t events);
    /// Adds an entry to the open datagram; sends a full one and starts another.
    void add(const Entry& entry, const Instrument& instrument, std::uint64_t events);
    void begin();
    void finish_datagram();
    /// Sends the closed datagrams. False if the socket refuses one; it is kept then.
    bool send_closed();
    void flush();
    void set_due(feed::InstrumentId id, bool quote, bool levels);
    /// Ends the wait of an instrument's level events; returns their number.
    [[nodiscard]] std::uint32_t release_levels(Instrument& instrument) noexcept;
    /// Sends up to `count` of the entries that are due; returns how many it sent.
    std::size_t send_due(std::size_t count);
    /// Repeats up to `count` entries, as many as the cycle needs at this time.
    void repeat(std::int64_t monotonic_ns, std::size_t count);

    Settings settings_;
    service::LogFunction log_;
    net::UdpSender sender_;
    feed::QuotesEncoder encoder_;
    std::array<std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes>, kBuffers> buffers_{};
    std::array<Closed, kBuffers> closed_{};
    std::size_t first_closed_{0};
    std::size_t closed_count_{0};
    std::uint64_t closed_events_{0};
    bool is_open_{false};
    std::uint64_t open_events_{0};
    bool clear_asked_{false};  // a clear is sent after all held events
    std::uint64_t missed_{0};  // entries whose gap has not been reported yet
    bool heartbeat_due_{true};
    bool is_depth_reported_{false};
    std::vector<Instrument> instruments_;
    const market::RingReader* ring_{nullptr};
    std::optional<market::Books> books_;  // if levels are sent
    SentLevels::Scratch scratch_;
    std::deque<feed::InstrumentId> due_;  // instruments whose quote or levels are due
    std::uint64_t pending_answers_{0};    // Gaps and Clears whose quotes and levels are due
    std::uint64_t waiting_levels_{0};     // sum over all instruments
    std::uint64_t dropped_levels_{0};     // levels of groups that a Clear or a loss cut
    std::int64_t batch_ns_{0};            // time of the last batch
    std::int64_t cycle_ns_{0};            // start of the cycle
    bool cycle_begins_{false};            // no entry of this cycle was sent yet
    std::size_t repeated_{0};             // instruments of this cycle
    std::int64_t sent_ns_{0};
    core::Tally heartbeats_;
    core::Tally repeats_;
    core::Tally board_dropped_;
};

}  // namespace millpond::gateway::udp
