#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/feed/confirmed_session.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_book_builder.hpp>
#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/feed/moldudp64_packet.hpp>
#include <millpond/feed/moldudp64_request.hpp>
#include <millpond/feed/order_books.hpp>
#include <millpond/feed/rerequester.hpp>
#include <millpond/feed/sequence_tracker.hpp>
#include <millpond/feed/sequenced_datagram.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::feed {

/// Follows the sessions of an ITCH channel in MoldUDP64 datagrams, and applies their messages to its order books
/// (ItchBookBuilder), which make the events.
///
/// Books are complete if message 1 of the session, or its start-of-messages event while no order was known, has been
/// seen and no message has been missed since; incomplete books make quotes marked incomplete. After a restart of the
/// sender at a lower number the books are incomplete until the next session. A new session empties everything, once it
/// is confirmed (ConfirmedSession).
///
/// Threads: one; counters() and sequence() may be read on any.
/// Memory:  ItchBookBuilder, allocated and touched once in the constructor.
class ItchDecoder {
public:
    using Options = ItchBookBuilder::Options;
    /// Calls the handler's on_fault, if it has one.
    static constexpr bool kNamesFaults = true;

    ItchDecoder(InstrumentTable& instruments, const Options& options,
                std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : books_(instruments, options, memory), sessions_(memory) {}

    /// Sets the midnight from which messages count their times (ExchangeDay). Without it exchange times are 0.
    void set_midnight(std::int64_t utc_ns, bool nearest = false) noexcept { books_.set_midnight(utc_ns, nearest); }

    template <EventHandler Handler>
    DecodeResult decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler);

    /// Prefetches the memory for a datagram that will be decoded soon; changes nothing.
    void prefetch(std::span<const std::byte> datagram) const noexcept;

    /// Begins a session that a LineArbiter has detected: empties everything; its message 1 is next.
    template <EventHandler Handler>
    void begin_session(const moldudp64_layout::Session& session, std::uint64_t, const Arrival& arrival,
                       Handler& handler) {
        if (tracker_.next() != 0) books_.clear(ClearReason::new_session, true, arrival, handler);
        sessions_.enter(session);
        tracker_.start(1);
        books_.begin_session(true);
        ended_ = false;
        joined_at_.set(0);
    }

    /// Restarts at `first` after a LineArbiter has detected a restart of the sender: empties everything.
    template <EventHandler Handler>
    void restart_at(std::uint64_t first, const Arrival& arrival, Handler& handler) {
        books_.clear(ClearReason::new_session, false, arrival, handler);
        tracker_.restart(first);
        books_.restart_sender();
    }

    /// Resets everything but the counters.
    void restart() noexcept;
    /// Continues the session at `next`: the books have the state before that message.
    void continue_at(std::uint64_t next) noexcept { tracker_.start(next); }

    [[nodiscard]] ItchBookBuilder& books() noexcept { return books_; }
    [[nodiscard]] const ItchBookBuilder& books() const noexcept { return books_; }
    /// True if the books are incomplete and applying the session's messages from 1 on would complete them. After a
    /// restart of the sender within the session it would not, because its numbers are ambiguous.
    [[nodiscard]] bool wants_rebuild() const noexcept {
        return tracker_.next() != 0 && !books_.is_complete() && !ended_ && !books_.has_sender_restarted();
    }
    /// Swaps its books with those of `rebuilt` (ItchBookBuilder::adopt). Returns false, with nothing changed, unless
    /// those are complete and at the same number of the same session, and wants_rebuild() is true.
    template <class Newest, EventHandler Handler>
    [[nodiscard]] bool adopt(ItchDecoder& rebuilt, Newest& newest, const Arrival& arrival, Handler& handler);

    /// Sends the books to readers of orders and levels again, as ItchBookBuilder's functions of these names.
    void renew_snapshots() noexcept { books_.renew_snapshots(); }
    [[nodiscard]] bool has_snapshots_due() const noexcept { return books_.has_snapshots_due(); }
    template <EventHandler Handler>
    std::size_t publish_snapshots(std::size_t events, const Arrival& arrival, Handler& handler) {
        return books_.publish_snapshots(events, tracker_.next() - 1, arrival, handler);
    }

    [[nodiscard]] const OrderBooks& order_books() const noexcept { return books_.order_books(); }
    [[nodiscard]] const DecodeCounters& counters() const noexcept { return books_.counters(); }
    /// Counts datagrams of another session that was not confirmed; readable on any thread.
    [[nodiscard]] const core::Tally& strays() const noexcept { return sessions_.strays(); }
    [[nodiscard]] const core::Tally& live_orders() const noexcept { return books_.live_orders(); }
    /// Counts orders and price levels that did not fit.
    [[nodiscard]] const core::Tally& refused_orders() const noexcept { return books_.refused_orders(); }
    [[nodiscard]] const SequenceTracker& sequence() const noexcept { return tracker_; }
    /// First number of a session that was joined after its start; 0 otherwise, and once its books were rebuilt or
    /// it has ended. What was sent before, such as the directory, is missing. Readable on any thread.
    [[nodiscard]] const core::Tally& joined_at() const noexcept { return joined_at_; }
    /// Session of the last applied datagram.
    [[nodiscard]] const moldudp64_layout::Session& session() const noexcept { return sessions_.session(); }
    /// Number of datagrams of other sessions, which were not applied.
    [[nodiscard]] std::uint64_t foreign() const noexcept { return sessions_.not_applied(); }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        books_.counters().visit(visitor);
        tracker_.counters().visit(visitor);
        visitor("session_strays", "Datagrams of another session that was not confirmed.", sessions_.strays());
        books_.visit_counters(visitor);
    }

private:
    using Sessions = ConfirmedSession<moldudp64_layout::Session>;

    /// Prefetches the memory for the datagram's messages, except levels.
    [[nodiscard]] MoldUdp64Packet read_ahead(std::span<const std::byte> datagram) const noexcept;
    /// Applies a datagram of the current session.
    template <class Handler>
    void apply(std::span<const std::byte> datagram, const MoldUdp64Packet& packet, const Arrival& arrival,
               Handler& handler);
    /// Applies the messages of a datagram from `first` on, which begins at `place`, in prefetched batches.
    template <class Handler>
    void apply_ahead(std::span<const std::byte> datagram, std::size_t place, const MoldUdp64Packet& packet,
                     std::uint64_t first, const Arrival& arrival, Handler& handler);
    /// Handles a datagram of another session. If that session is confirmed now, applies the datagram and the one held
    /// for it. Returns the number of messages read.
    template <class Handler>
    [[nodiscard]] std::uint32_t apply_other(const Sessions::Datagram& datagram, const MoldUdp64Packet& packet,
                                            Handler& handler);
    template <class Handler>
    [[nodiscard]] std::uint64_t follow(const MoldUdp64Packet& packet, const Arrival& arrival, Handler& handler);

    ItchBookBuilder books_;
    Sessions sessions_;
    SequenceTracker tracker_;
    bool ended_{false};
    core::Tally joined_at_;
};

template <EventHandler Handler>
DecodeResult ItchDecoder::decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler) {
    auto& counters = books_.counters();
    counters.datagrams.add();
    counters.bytes.add(datagram.size());
    // Orders are scattered over memory: prefetch all of a datagram while its blocks are being checked.
    const auto packet = books_.has_many_orders() ? read_ahead(datagram) : MoldUdp64Packet::read(datagram, [](auto) {});
    if (packet.error) {
        counters.add_malformed(datagram.size() - packet.end);
        if (!packet.has_header()) return {.error = packet.error};
    }
    if (sessions_.is_current(packet.session, arrival.receive_utc_ns)) [[likely]] {
        apply(datagram, packet, arrival, handler);
        return {.messages = packet.messages, .error = packet.error};
    }
    const Sessions::Datagram other{.numbers = {.session = packet.session,
                                               .first = packet.sequence,
                                               .count = packet.messages,
                                               .ends = packet.end_of_session},
                                   .bytes = datagram,
                                   .arrival = arrival};
    return {.messages = apply_other(other, packet, handler), .error = packet.error};
}

template <class Handler>
void ItchDecoder::apply(std::span<const std::byte> datagram, const MoldUdp64Packet& packet, const Arrival& arrival,
                        Handler& handler) {
    const auto old = std::min<std::uint64_t>(follow(packet, arrival, handler), packet.messages);
    auto place = moldudp64_layout::kHeaderBytes;
    if (old != 0) [[unlikely]] {
        for (std::uint64_t i = 0; i < old; ++i) static_cast<void>(next_block(datagram, place));
        books_.counters().messages.add(old);
        books_.counters().stale.add(old);
    }
    if (books_.has_many_orders() && old + 1 < packet.messages) [[unlikely]] {
        return apply_ahead(datagram, place, packet, old, arrival, handler);
    }
    for (auto i = old; i < packet.messages; ++i)
        books_.apply(next_block(datagram, place), packet.sequence + i, arrival, handler);
}

template <class Handler>
std::uint32_t ItchDecoder::apply_other(const Sessions::Datagram& datagram, const MoldUdp64Packet& packet,
                                       Handler& handler) {
    // Invalid datagrams must not look like a new session.
    switch (packet.error ? Sessions::Verdict::ignored : sessions_.observe(datagram)) {
        case Sessions::Verdict::joined:
            if (packet.sequence == 1) books_.mark_complete();
            joined_at_.set(packet.sequence == 1 ? 0 : packet.sequence);
            apply(datagram.bytes, packet, datagram.arrival, handler);
            if (books_.is_complete()) joined_at_.set(0);
            return packet.messages;
        case Sessions::Verdict::changed: break;
        case Sessions::Verdict::ignored:
            books_.counters().messages.add(packet.messages);
            books_.counters().stale.add(packet.messages);
            return packet.messages;
        case Sessions::Verdict::held:
        case Sessions::Verdict::copy:
        case Sessions::Verdict::foreign: return 0;  // counted when the session is confirmed
    }
    begin_session(packet.session, 1, sessions_.first_arrival(datagram), handler);
    std::uint32_t messages = 0;
    sessions_.apply_confirmed(datagram, [&](const Sessions::Datagram& confirmed) {
        const auto blocks = MoldUdp64Packet::read(confirmed.bytes, [](std::span<const std::byte>) {});
        apply(confirmed.bytes, blocks, confirmed.arrival, handler);
        messages += blocks.messages;
    });
    return messages;
}

template <class Handler>
std::uint64_t ItchDecoder::follow(const MoldUdp64Packet& packet, const Arrival& arrival, Handler& handler) {
    const auto step = tracker_.observe(packet.sequence, packet.messages);
    if (step.restarted) {
        books_.clear(ClearReason::new_session, false, arrival, handler);
        books_.restart_sender();
    }
    if (step.gap()) {
        books_.mark_incomplete();
        emit(books_.counters(), handler, make_gap(arrival, step.gap_first, step.gap_last));
    }
    if (packet.messages == 0 && !packet.error) books_.counters().add_heartbeat(packet.sequence, tracker_.next());
    if (packet.end_of_session && !std::exchange(ended_, true)) {
        sessions_.end();
        books_.clear(ClearReason::end_of_session, false, arrival, handler);
        books_.mark_incomplete();
        joined_at_.set(0);
    }
    return step.old;
}

template <class Handler>
void ItchDecoder::apply_ahead(std::span<const std::byte> datagram, std::size_t place, const MoldUdp64Packet& packet,
                              std::uint64_t first, const Arrival& arrival, Handler& handler) {
    std::array<std::span<const std::byte>, ItchBookBuilder::kBatch> messages;
    while (first < packet.messages) {
        const auto count = std::min<std::size_t>(ItchBookBuilder::kBatch, packet.messages - first);
        for (auto& message : std::span{messages}.first(count)) message = next_block(datagram, place);
        books_.apply_prefetched(std::span{messages}.first(count), packet.sequence + first, arrival, handler);
        first += count;
    }
}

inline void ItchDecoder::prefetch(std::span<const std::byte> datagram) const noexcept {
    if (books_.has_many_orders()) static_cast<void>(read_ahead(datagram));
}

inline MoldUdp64Packet ItchDecoder::read_ahead(std::span<const std::byte> datagram) const noexcept {
    return MoldUdp64Packet::read(datagram, [this](std::span<const std::byte> message) { books_.prefetch(message); });
}

inline void ItchDecoder::restart() noexcept {
    books_.reset();
    sessions_.restart();
    tracker_.start(1);
    ended_ = false;
    joined_at_.set(0);
}

template <class Newest, EventHandler Handler>
bool ItchDecoder::adopt(ItchDecoder& rebuilt, Newest& newest, const Arrival& arrival, Handler& handler) {
    const bool same_place = rebuilt.session() == session() && rebuilt.tracker_.next() == tracker_.next();
    if (!same_place || !rebuilt.books_.is_complete() || !wants_rebuild()) return false;
    if (!books_.adopt(rebuilt.books_, newest, tracker_.next() - 1, arrival, handler,
                      [](std::uint16_t, std::uint16_t) {}))
        return false;
    joined_at_.set(0);
    return true;
}

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
    /// wanted: at most 65535 messages.
    [[nodiscard]] static MoldUdp64Request::Bytes request(const RequestedMessages<Session>& wanted) noexcept {
        return MoldUdp64Request{
            .session = wanted.session, .first = wanted.first, .count = static_cast<std::uint16_t>(wanted.count)}
            .bytes();
    }
    static void announce(const Session& session, std::span<std::byte, kAnnouncementBytes> out) noexcept {
        namespace at = moldudp64_layout;
        std::memcpy(out.data() + at::kSessionAt, session.data(), session.size());
        core::store_be(out.data() + at::kSequenceAt, std::uint64_t{1});
        core::store_be(out.data() + at::kCountAt, std::uint16_t{0});
    }
};

}  // namespace millpond::feed
