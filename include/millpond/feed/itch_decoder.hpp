#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/feed/confirmed_session.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/detail/itch_books.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_fault.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/feed/moldudp64_packet.hpp>
#include <millpond/feed/order_books.hpp>
#include <millpond/feed/sequence_tracker.hpp>
#include <millpond/feed/sequenced_datagram.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::feed {

/// Reads NASDAQ TotalView-ITCH 5.0 (itch_layout.hpp) in MoldUDP64 datagrams, keeps the order books and makes a Quote of
/// each change of an instrument's best bid or offer or of its flags, a Trade of each printable execution and cross, a
/// TradeBreak of each broken trade, a Status of each trading action, operational halt, system event and circuit
/// breaker. Hidden orders' trades do not touch the book.
///
/// An instrument is halted while its last trading action is not "trading", or while this market has halted it
/// (operational halt); halts of the other Nasdaq markets are ignored. The venue names the market: XBOS is BX, XPSX is
/// PSX, every other is Nasdaq. The end of a session and a new one leave the state of halted instruments unknown.
///
/// Books are complete when message 1 of the session, or its start-of-messages event while no order was known, has been
/// seen and nothing has been missed since; all others make quotes marked incomplete. After a restart of the sender at a
/// lower number they are incomplete until the next session. A message of an unknown type or a wrong length counts as
/// missed and makes a Gap. A change of an order that is not known, an order without room and one with impossible
/// contents make their own book incomplete. A new session empties everything, once it is confirmed (ConfirmedSession).
///
/// A handler may also have on_fault(message, sequence, ItchFault): it is called for each message that was not applied,
/// or not in full, after the events of the message.
///
/// Threads: one; counters() and sequence() may be read on any.
/// Memory:  OrderBooks and ItchBooks, taken and touched once in the constructor.
class ItchDecoder {
public:
    struct Options {
        Venue venue{"XNAS"};
        OrderBooks::Options order_books{};
    };
    /// The handler's on_fault is called, if it has one.
    static constexpr bool kNamesFaults = true;

    ItchDecoder(InstrumentTable& instruments, const Options& options,
                std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : market_(market_of(options.venue)),
          order_books_(options.order_books, memory),
          books_(instruments, options.venue, options.order_books.books, memory),
          sessions_(memory) {}

    /// UTC nanoseconds of the exchange's midnight, from which messages count. Exchange times are 0 without it.
    void set_midnight(std::int64_t utc_ns) noexcept { midnight_utc_ns_ = utc_ns; }

    template <EventHandler Handler>
    DecodeResult decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler);

    /// Prefetches what a datagram that will be decoded soon needs; changes nothing.
    void prefetch(std::span<const std::byte> datagram) const noexcept;

    /// One message without framing, from a file; `sequence` goes into its events.
    template <EventHandler Handler>
    void decode_message(std::span<const std::byte> message, std::uint64_t sequence, const Arrival& arrival,
                        Handler& handler);

    /// Messages without framing, one behind the other, the first with the sequence `first`: as decode_message for each,
    /// and while it decodes some the memory is on its way that the next ones will need, which is scattered.
    template <EventHandler Handler>
    void decode_messages(std::span<const std::span<const std::byte>> messages, std::uint64_t first,
                         const Arrival& arrival, Handler& handler);

    /// A new session, as a LineArbiter has found out: everything is forgotten, and its message 1 comes next.
    template <EventHandler Handler>
    void begin_session(const moldudp64_layout::Session& session, std::uint64_t, const Arrival& arrival,
                       Handler& handler) {
        if (tracker_.next() != 0) clear(ClearReason::new_session, arrival, handler);
        sessions_.enter(session);
        tracker_.start(1);
        complete_ = true;
        ended_ = false;
        begun_again_ = false;
    }

    /// The sender begins again at `first`, as a LineArbiter has found out: everything is forgotten.
    template <EventHandler Handler>
    void begin_again(std::uint64_t first, const Arrival& arrival, Handler& handler) {
        clear(ClearReason::new_session, arrival, handler);
        tracker_.restart(first);
        complete_ = false;
        begun_again_ = true;
    }

    /// The books are complete from here on, for a file that begins with the day.
    void begin_complete() noexcept { complete_ = true; }

    /// As new, but for the counters.
    void restart() noexcept;

    [[nodiscard]] bool is_complete() const noexcept { return complete_; }
    /// The books are incomplete during the session, and its messages from 1 on would make them complete. (Where
    /// a sender began again within a session, its numbers mean two things.)
    [[nodiscard]] bool wants_rebuild() const noexcept {
        return tracker_.next() != 0 && !complete_ && !ended_ && !begun_again_;
    }
    /// Exchanges its books for those of `rebuilt`, which are complete and at the same number of the same session, and
    /// publishes `newest.quotes` and `newest.states` of every instrument, by its number there, and `newest.channel`; of
    /// the states only those that differ from what this decoder has seen. False, and nothing is changed, when that is
    /// not so, this decoder does not want them (wants_rebuild) or there is no room for an instrument. O(books), without
    /// allocation.
    template <class Newest, EventHandler Handler>
    [[nodiscard]] bool adopt(ItchDecoder& rebuilt, const Newest& newest, const Arrival& arrival, Handler& handler);

    [[nodiscard]] const OrderBooks& order_books() const noexcept { return order_books_; }
    [[nodiscard]] const core::Tally& unknown_orders() const noexcept { return unknown_orders_; }
    [[nodiscard]] const core::Tally& inconsistent_orders() const noexcept { return inconsistent_; }
    [[nodiscard]] const DecodeCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const SequenceTracker& sequence() const noexcept { return tracker_; }
    /// Of the datagram that was applied last.
    [[nodiscard]] const moldudp64_layout::Session& session() const noexcept { return sessions_.session(); }
    /// Datagrams of other sessions, which were not applied.
    [[nodiscard]] std::uint64_t foreign() const noexcept { return sessions_.strays().read(); }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        counters_.visit(visitor);
        tracker_.counters().visit(visitor);
        visitor("session_strays", "Datagrams of another session that was not confirmed.", sessions_.strays());
        visitor("orders_unknown", "Changes of orders that are not in the book.", unknown_orders_);
        visitor("orders_refused", "Orders or price levels that did not fit.", refused_orders_);
        visitor("orders_inconsistent", "Orders added twice, and executions of more shares than an order has.",
                inconsistent_);
        visitor("orders_live", "Orders in the books.", live_orders_);
    }

private:
    static constexpr std::size_t kAhead = 32;  // messages
    // Live orders from which on they and their levels are not in the processor's own caches.
    static constexpr std::size_t kManyOrders = 16'384;
    struct Context {
        std::uint64_t sequence;
        const Arrival& arrival;
    };
    using Bytes = const std::byte*;

    /// Messages so far with each fault; one that is counted twice has the first of these.
    struct Faults {
        std::uint64_t unknown_order, inconsistent, refused, invalid;
    };
    [[nodiscard]] Faults faults() const noexcept {
        return {unknown_orders_.read(), inconsistent_.read(), counters_.refused.read(),
                counters_.unknown.read() + counters_.rejected.read()};
    }
    [[nodiscard]] std::optional<ItchFault> fault_since(const Faults& before) const noexcept;

    using Sessions = ConfirmedSession<moldudp64_layout::Session>;

    [[nodiscard]] bool has_many_orders() const noexcept { return order_books_.live_orders() >= kManyOrders; }
    void prefetch_order(std::span<const std::byte> message) const noexcept;
    void prefetch_orders(std::span<const std::span<const std::byte>> messages) const noexcept;
    /// Prefetches what the datagram's messages need but for levels.
    [[nodiscard]] MoldUdp64Packet read_ahead(std::span<const std::byte> datagram) const noexcept;
    void prefetch_levels(std::span<const std::span<const std::byte>> messages) noexcept;
    /// Applies a datagram of the current session.
    template <class Handler>
    void apply(std::span<const std::byte> datagram, const MoldUdp64Packet& packet, const Arrival& arrival,
               Handler& handler);
    /// Up to kAhead messages whose orders and books are prefetched.
    template <class Handler>
    void decode_prefetched(std::span<const std::span<const std::byte>> messages, std::uint64_t first,
                           const Arrival& arrival, Handler& handler);
    /// The messages of a datagram from `first` on, the first of which is at `place`: as decode_messages.
    template <class Handler>
    void apply_ahead(std::span<const std::byte> datagram, std::size_t place, const MoldUdp64Packet& packet,
                     std::uint64_t first, const Arrival& arrival, Handler& handler);
    /// A datagram of another session: applies it, and what was held of that session, if it is the current one now. How
    /// many messages were looked at.
    template <class Handler>
    [[nodiscard]] std::uint32_t apply_other(const Sessions::Datagram& datagram, const MoldUdp64Packet& packet,
                                            Handler& handler);
    template <class Handler>
    [[nodiscard]] std::uint64_t follow(const MoldUdp64Packet& packet, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void clear(ClearReason reason, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void apply_message(std::span<const std::byte> message, const Context& context, Handler& handler);
    template <class Handler>
    void on_order_added(Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void on_order_changed(Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void on_execution(Bytes message, const OrderStore::Order& order, const Context& context, Handler& handler);
    template <class Handler>
    void on_trade(Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void on_trading_action(Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void on_operational_halt(Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void on_broken_trade(Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void on_circuit_breaker(Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void on_system_event(Bytes message, const Context& context, Handler& handler);
    /// A message that cannot be read may have changed any book.
    template <class Handler>
    void lose(core::Tally& counter, const Context& context, Handler& handler);
    /// A message with impossible contents is lost to its book.
    template <class Handler>
    void reject(std::uint16_t book, Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void publish_state(std::uint16_t book, Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void forget_states(ClearReason reason, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void publish_top(std::uint16_t book, Bytes message, const Context& context, Handler& handler);
    template <class Handler>
    void settle(OrderBooks::Outcome outcome, std::uint16_t book, Bytes message, const Context& context,
                Handler& handler);

    template <class Event>
    [[nodiscard]] Event start(Bytes message, const Context& context) const noexcept;
    [[nodiscard]] static std::uint16_t locate_of(Bytes message) noexcept {
        return core::load_be<std::uint16_t>(message + itch_layout::kLocateAt);
    }

    [[nodiscard]] static char market_of(const Venue& venue) noexcept;

    char market_;  // in operational halts
    bool has_channel_state_{false};
    std::int64_t midnight_utc_ns_{0};
    bool complete_{false};
    bool ended_{false};
    bool begun_again_{false};  // at a lower number, in this session
    OrderBooks order_books_;
    ItchBooks books_;
    Sessions sessions_;
    SequenceTracker tracker_;
    DecodeCounters counters_;
    core::Tally unknown_orders_;
    core::Tally refused_orders_;
    core::Tally inconsistent_;
    core::Tally live_orders_;
};

template <>
struct Sequencing<ItchDecoder> {
    using Session = moldudp64_layout::Session;
    static constexpr std::size_t kAnnouncementBytes = moldudp64_layout::kHeaderBytes;

    [[nodiscard]] static std::optional<SequencedDatagram<Session>> read(std::span<const std::byte> bytes) noexcept {
        namespace at = moldudp64_layout;
        if (bytes.size() < at::kHeaderBytes || !at::is_printable(bytes.data() + at::kSessionAt)) return std::nullopt;
        SequencedDatagram<Session> numbers;
        std::memcpy(numbers.session.data(), bytes.data() + at::kSessionAt, numbers.session.size());
        numbers.first = core::load_be<std::uint64_t>(bytes.data() + at::kSequenceAt);
        const auto count = core::load_be<std::uint16_t>(bytes.data() + at::kCountAt);
        numbers.ends = count == at::kEndOfSession;
        numbers.count = numbers.ends ? 0 : count;
        if (numbers.first == 0 || numbers.first > std::numeric_limits<std::uint64_t>::max() - 0x1'0000) return {};
        return numbers;
    }
    [[nodiscard]] static bool is_whole(std::span<const std::byte> bytes) noexcept {
        return !MoldUdp64Packet::read(bytes, [](std::span<const std::byte>) {}).error;
    }
    [[nodiscard]] static SessionName name_of(const Session& session) noexcept {
        const std::string_view name{session.data(), session.size()};
        return SessionName{name.substr(0, name.find_last_not_of(' ') + 1)};
    }
    static void announce(const Session& session, std::span<std::byte, kAnnouncementBytes> out) noexcept {
        namespace at = moldudp64_layout;
        std::memcpy(out.data() + at::kSessionAt, session.data(), session.size());
        core::store_be(out.data() + at::kSequenceAt, std::uint64_t{1});
        core::store_be(out.data() + at::kCountAt, std::uint16_t{0});
    }
};

}  // namespace millpond::feed

#include <millpond/feed/detail/itch_adopt_impl.hpp>
#include <millpond/feed/detail/itch_ahead_impl.hpp>
#include <millpond/feed/detail/itch_decoder_impl.hpp>
#include <millpond/feed/detail/itch_loss_impl.hpp>
#include <millpond/feed/detail/itch_states_impl.hpp>
