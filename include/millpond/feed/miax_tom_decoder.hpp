#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/confirmed_session.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/detail/two_sided_quotes.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/exchange_day.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/mach_packet.hpp>
#include <millpond/feed/miax_tom_layout.hpp>
#include <millpond/feed/product_names.hpp>
#include <millpond/feed/sequence_tracker.hpp>
#include <millpond/feed/sequenced_datagram.hpp>
#include <millpond/feed/sequencing.hpp>
#include <millpond/feed/wire_key_index.hpp>

namespace millpond::feed {

/// Reads MIAX Top of Market (miax_tom_layout.hpp) and makes a two-sided Quote of each one-sided or two-sided message, a
/// Trade of each trade, a TradeBreak of each cancelled trade, and a Status of the system's state.
///
/// A quote is incomplete while one of its sides has not been seen since the start, the last gap or the last session
/// change. A side last seen before a gap keeps its price; one of an earlier session is empty. A message that cannot be
/// read is a gap too, because it may have been of any side. A gap costs O(1). A new session empties all sides, once it
/// is confirmed (ConfirmedSession); the format does not state its first number, so messages before its first datagram
/// do not count as missing.
///
/// Exchange times are 0 until a system time message has arrived, and again from a gap to the next one. A system time of
/// less than 86,400 counts from midnight and needs set_midnight.
///
/// Threads: one; counters() and sequence() may be read on any.
/// Memory:  about 110 bytes per instrument of the table's capacity and a ConfirmedSession, allocated once from
///          `memory` in the constructor.
class MiaxTomDecoder {
public:
    /// Consecutive old messages after which the sender is assumed to have restarted.
    static constexpr std::uint32_t kRestartAfter = 1'024;
    struct Options {
        Venue venue{"XMIO"};
        ProductNames names{};  ///< A product without a name is named by its number.
    };

    MiaxTomDecoder(InstrumentTable& instruments, Options options,
                   std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// Sets the midnight for system times of the day: ExchangeDay.
    void set_midnight(std::int64_t utc_ns, bool nearest = false) noexcept { day_.set_midnight(utc_ns, nearest); }

    template <EventHandler Handler>
    DecodeResult decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler);

    /// Begins a session that a LineArbiter has detected: discards all state; message `first` is next.
    template <EventHandler Handler>
    void begin_session(std::uint8_t session, std::uint64_t first, const Arrival& arrival, Handler& handler) {
        clear(ClearReason::new_session, arrival, handler);
        sessions_.enter(session);
        tracker_.start(first);
    }

    /// Restarts at `first` after a LineArbiter has detected a restart of the sender: discards all state.
    template <EventHandler Handler>
    void restart_at(std::uint64_t first, const Arrival& arrival, Handler& handler) {
        clear(ClearReason::new_session, arrival, handler);
        tracker_.restart(first);
    }

    [[nodiscard]] const DecodeCounters& counters() const noexcept { return counters_; }
    /// Counts datagrams of another session that was not confirmed; readable on any thread.
    [[nodiscard]] const core::Tally& strays() const noexcept { return sessions_.strays(); }
    [[nodiscard]] const SequenceTracker& sequence() const noexcept { return tracker_; }
    /// Session of the last applied datagram.
    [[nodiscard]] std::uint8_t session() const noexcept { return sessions_.session(); }
    /// Number of datagrams of other sessions, which were not applied.
    [[nodiscard]] std::uint64_t foreign() const noexcept { return sessions_.not_applied(); }
    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        counters_.visit(visitor);
        tracker_.counters().visit(visitor);
        visitor("session_strays", "Datagrams of another session that was not confirmed.", sessions_.strays());
    }

private:
    using Sessions = ConfirmedSession<std::uint8_t>;

    /// Calls on(packet) for each complete packet of the datagram.
    template <class OnPacket>
    [[nodiscard]] DecodeResult each_packet(std::span<const std::byte> datagram, OnPacket&& on);
    /// Applies a datagram of the current session.
    template <class Handler>
    [[nodiscard]] DecodeResult apply(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler);
    /// Handles a datagram of another session. If that session is confirmed now, applies the datagram and the one held
    /// for it.
    template <class Handler>
    [[nodiscard]] DecodeResult apply_other(std::span<const std::byte> datagram, const Arrival& arrival,
                                           Handler& handler);
    /// Counts the datagram's messages without applying them.
    [[nodiscard]] DecodeResult ignore(std::span<const std::byte> datagram);
    template <class Handler>
    void on_packet(const MachPacket& packet, const Arrival& arrival, Handler& handler);
    template <class Handler>
    [[nodiscard]] bool follow(std::uint64_t first, std::uint64_t count, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void on_message(const MachPacket& packet, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void on_quote(const MachPacket& packet, bool has_bid, bool has_ask, bool wide, const Arrival& arrival,
                  Handler& handler);
    template <class Handler>
    void on_trade(const MachPacket& packet, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void on_trade_cancel(const MachPacket& packet, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void on_system_state(const MachPacket& packet, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void clear(ClearReason reason, const Arrival& arrival, Handler& handler);

    /// The product's index in ids_ and sides_; kNoInstrument if the table is full.
    [[nodiscard]] std::uint32_t find_or_add(std::uint32_t product) noexcept;
    [[nodiscard]] static TwoSidedQuotes::Side read_side(const std::byte* bytes, bool wide) noexcept;
    void set_time(std::uint32_t seconds, std::int64_t receive_utc_ns) noexcept;
    /// Makes an event with the fields that all events share.
    template <class Event>
    [[nodiscard]] Event start(const MachPacket& packet, std::uint32_t nanos, const Arrival& arrival) const noexcept;
    [[nodiscard]] std::int64_t exchange_time(std::uint32_t nanos) const noexcept {
        return second_utc_ns_ == 0 || time_generation_ != sides_.generation() ? 0 : second_utc_ns_ + nanos;
    }
    template <class Handler>
    [[nodiscard]] bool expect(bool wanted, const MachPacket& packet, const Arrival& arrival, Handler& handler) {
        if (!wanted) [[unlikely]]
            lose(counters_.rejected, packet, arrival, handler);
        return wanted;
    }
    template <class Handler>
    void lose(core::Tally& counter, const MachPacket& packet, const Arrival& arrival, Handler& handler);

    InstrumentTable* instruments_;
    Options options_;
    WireKeyIndex index_;
    std::pmr::vector<InstrumentId> ids_;
    TwoSidedQuotes sides_;
    std::uint32_t time_generation_{0};  // generation in which second_ was set
    std::int64_t second_utc_ns_{0};
    std::uint64_t quotes_at_loss_{0};  // number of quotes made before the last loss
    ExchangeDay day_;
    Sessions sessions_;
    SequenceTracker tracker_{kRestartAfter};
    DecodeCounters counters_;
};

template <>
struct Sequencing<MiaxTomDecoder> {
    using Session = std::uint8_t;

    [[nodiscard]] static std::optional<SequencedDatagram<Session>> read(std::span<const std::byte> bytes) noexcept {
        return read_mach_numbers(bytes);
    }
    [[nodiscard]] static bool is_whole(std::span<const std::byte> bytes) noexcept {
        return mach_packets_are_whole(bytes, 0);
    }
    [[nodiscard]] static SessionName name_of(Session session) noexcept { return number_name(session); }
};

}  // namespace millpond::feed

#include <millpond/feed/detail/miax_tom_decoder_impl.hpp>
