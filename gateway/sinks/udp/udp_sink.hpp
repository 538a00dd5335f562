#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/sinks/conflator.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/udp/options.hpp"

namespace millpond::gateway::udp {

/// Quotes as `quotes` datagrams (feed/quotes_layout.hpp), to chain gateways. A Clear empties the receivers' quotes,
/// those of other feeds included; a Gap sends the quotes that it makes incomplete once more, and a Clear those that it
/// does not void, a few at a time; trades and states are filtered. For entries of the ring that the sink missed it
/// skips sequence numbers, so that receivers see a gap of the same size.
///
/// A datagram is closed when it is full or nothing else waits. While the socket is full, quotes wait in the ring or are
/// conflated, depending on the mode.
class UdpSink final : public Sink {
public:
    /// session: greater than in any earlier run, the UTC time. Throws what net::UdpSender throws.
    UdpSink(const Options& options, std::uint64_t session, service::Say say);

    [[nodiscard]] std::size_t room() const noexcept override { return closed_.empty() && !clear_asked_ ? kRound : 0; }
    [[nodiscard]] Delivery mode() const noexcept override { return options_.mode; }
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    void board(const feed::Status&, std::uint64_t) override {}
    Taken on(const feed::Quote& quote, std::uint64_t number) override;
    Taken on(const feed::Trade&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::TradeBreak&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::Status&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::Gap& gap, std::uint64_t number) override;
    Taken on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void finish() override;
    [[nodiscard]] std::uint64_t held() const noexcept override {
        return begun_events_ + closed_events_ + answered_later_;
    }
    [[nodiscard]] std::string_view type() const noexcept override { return "udp"; }
    void visit_metrics(const MetricVisitor& visit) const override;
    [[nodiscard]] const net::UdpSender& sender() const noexcept { return sender_; }

private:
    /// Quotes that an empty datagram holds whatever their names: the rest of the open one and these never make two.
    static constexpr std::size_t kRound = 16;

    /// Between two portions of quotes that are sent once more: some 160,000 a second, so that receivers' buffers hold.
    static constexpr std::int64_t kPortionEveryNs = 100'000;

    struct Instrument {
        feed::Venue venue;
        feed::Symbol symbol;
        feed::Quote quote{};
        std::uint64_t number{0};  ///< Of the quote's ring entry; 0 if there is none.
    };

    void keep(const feed::Quote& quote, std::uint64_t number);
    /// Adds to the open datagram; a full one is sent and another started.
    void add(const feed::Quote& quote, bool event);
    void begin();
    void finish_datagram();
    /// False when the socket refuses the closed datagram, which then stays.
    bool send_closed();
    void flush();
    /// Sends the next quote that has to be repeated.
    void send_due();

    Options options_;
    service::Say say_;
    net::UdpSender sender_;
    feed::QuotesEncoder encoder_;
    // One is being filled while the other, closed, waits for the socket.
    std::array<std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes>, 2> buffers_{};
    std::size_t filling_{0};
    bool begun_{false};
    std::uint64_t begun_events_{0};
    std::span<const std::byte> closed_{};
    std::uint64_t closed_events_{0};
    bool clear_asked_{false};  // to be sent once all held quotes are sent
    std::uint64_t missed_{0};  // entries whose gap has not been reported yet
    bool beat_at_once_{true};
    std::vector<Instrument> instruments_;
    Conflator due_;                    // quotes that have to be sent once more
    std::uint64_t answered_later_{0};  // Gaps and Clears whose quotes are among them
    std::int64_t portion_ns_{0};
    std::int64_t sent_ns_{0};
    core::Tally heartbeats_;
    core::Tally board_dropped_;
};

}  // namespace millpond::gateway::udp
