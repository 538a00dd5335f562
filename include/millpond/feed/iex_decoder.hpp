#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/confirmed_session.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/iex_gap_fill.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/iex_packet.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/rerequester.hpp>
#include <millpond/feed/sequence_tracker.hpp>
#include <millpond/feed/sequenced_datagram.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::feed {

class OrderBooks;

template <class Messages>
concept HasBooks = requires(const Messages& messages) { messages.order_books(); };

/// Follows the sessions of one channel of an IEX feed in IEX-TP datagrams, and passes their messages to `Messages`
/// (IexTops, IexDeep, IexDeepPlus), which make the events.
///
/// A new session empties everything, once it is confirmed (ConfirmedSession); it begins with message 1. The message
/// "end of messages" is the session's last one. Messages that are longer than expected are read up to the expected
/// length, and those of unknown types are counted and skipped: IEX adds both without notice. Datagrams of other
/// channels of the group are counted.
///
/// Threads: one; counters() and sequence() may be read on any.
/// Memory:  Messages and a ConfirmedSession, allocated once in the constructor.
template <class Messages>
class IexDecoder {
public:
    struct Options : Messages::Options {
        std::optional<std::uint32_t> iex_channel{};  ///< Channel to accept; without one, that of the first datagram.
    };
    /// Messages of unknown types are no fault.
    static constexpr bool kExpectsUnknown = true;
    /// Snapshots have their orders by priority.
    static constexpr bool kSnapshotsByPriority = true;

    IexDecoder(InstrumentTable& instruments, const Options& options,
               std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : channel_(options.iex_channel), messages_(instruments, options, memory), sessions_(memory) {}

    template <EventHandler Handler>
    DecodeResult decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler);

    /// Begins a session that a LineArbiter has detected: discards all state; its message 1 is next.
    template <EventHandler Handler>
    void begin_session(const IexSession& session, std::uint64_t, const Arrival& arrival, Handler& handler) {
        if (tracker_.next() != 0) messages_.clear(ClearReason::new_session, true, arrival, handler);
        channel_ = session.channel;
        sessions_.enter(session);
        tracker_.start(1);
        ended_ = false;
        if constexpr (kHasBooks) messages_.begin_session(true);
    }

    /// Resets everything but the counters.
    void restart() noexcept
        requires HasBooks<Messages>
    {
        messages_.reset();
        sessions_.restart();
        tracker_.start(1);
        ended_ = false;
    }
    /// Continues the session at `next`: the books have the state before that message, or are void if it is the state
    /// after the session's last one.
    void continue_at(std::uint64_t next) noexcept {
        tracker_.start(next);
        if constexpr (kHasBooks) {
            if (!messages_.take_end()) return;
            ended_ = true;
            messages_.mark_incomplete();
        }
    }
    /// Whether the session's last message so far announced its end.
    [[nodiscard]] bool has_ended() const noexcept { return ended_; }
    /// True if the books are incomplete and the state before the session's next message would complete them. After a
    /// restart of the sender within the session it would not, because its numbers are ambiguous.
    [[nodiscard]] bool wants_rebuild() const noexcept
        requires HasBooks<Messages>
    {
        return tracker_.next() != 0 && !messages_.is_complete() && !ended_ && !messages_.has_sender_restarted();
    }
    /// Swaps its books with those of `rebuilt` (BookPublisher::adopt), or ends the session if it has ended there.
    /// Returns false, with nothing changed, unless those are complete and at the same number of the same session, and
    /// wants_rebuild() is true.
    template <class Newest, EventHandler Handler>
    [[nodiscard]] bool adopt(IexDecoder& rebuilt, Newest& newest, const Arrival& arrival, Handler& handler)
        requires HasBooks<Messages>
    {
        const bool same_place = rebuilt.session() == session() && rebuilt.tracker_.next() == tracker_.next();
        if (!same_place || !wants_rebuild()) return false;
        if (rebuilt.ended_) {
            end_session(arrival, handler);
            return true;
        }
        if (!rebuilt.messages_.is_complete()) return false;
        return messages_.adopt(rebuilt.messages_, newest, tracker_.next() - 1, arrival, handler);
    }

    /// Restarts at `first` after a LineArbiter has detected a restart of the sender: discards all state.
    template <EventHandler Handler>
    void restart_at(std::uint64_t first, const Arrival& arrival, Handler& handler) {
        restart_sender(arrival, handler);
        tracker_.restart(first);
    }

    /// False for another channel of the group.
    [[nodiscard]] bool accepts(const IexSession& session) const noexcept {
        return !channel_ || session.channel == *channel_;
    }

    [[nodiscard]] Messages& messages() noexcept { return messages_; }
    [[nodiscard]] const Messages& messages() const noexcept { return messages_; }
    [[nodiscard]] const DecodeCounters& counters() const noexcept { return messages_.counters(); }
    /// Counts datagrams of another session that was not confirmed; readable on any thread.
    [[nodiscard]] const core::Tally& strays() const noexcept { return sessions_.strays(); }
    [[nodiscard]] const SequenceTracker& sequence() const noexcept { return tracker_; }
    /// Session of the last applied datagram.
    [[nodiscard]] const IexSession& session() const noexcept { return sessions_.session(); }
    [[nodiscard]] auto& books() noexcept
        requires HasBooks<Messages>
    {
        return messages_;
    }
    [[nodiscard]] const auto& books() const noexcept
        requires HasBooks<Messages>
    {
        return messages_;
    }
    [[nodiscard]] const OrderBooks& order_books() const noexcept
        requires HasBooks<Messages>
    {
        return messages_.order_books();
    }
    [[nodiscard]] const core::Tally& live_orders() const noexcept
        requires HasBooks<Messages>
    {
        return messages_.live_orders();
    }
    [[nodiscard]] const core::Tally& refused_orders() const noexcept
        requires HasBooks<Messages>
    {
        return messages_.refused_orders();
    }
    /// Sends the books to readers of orders and levels again, as BookPublisher's functions of these names.
    void renew_snapshots() noexcept
        requires HasBooks<Messages>
    {
        messages_.renew_snapshots();
    }
    [[nodiscard]] bool has_snapshots_due() const noexcept
        requires HasBooks<Messages>
    {
        return messages_.has_snapshots_due();
    }
    template <EventHandler Handler>
    std::size_t publish_snapshots(std::size_t events, const Arrival& arrival, Handler& handler)
        requires HasBooks<Messages>
    {
        return messages_.publish_snapshots(events, tracker_.next() - 1, arrival, handler);
    }
    /// Number of datagrams of other sessions and channels, which were not applied.
    [[nodiscard]] std::uint64_t foreign() const noexcept { return sessions_.not_applied() + other_channels_.read(); }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        counters().visit(visitor);
        tracker_.counters().visit(visitor);
        visitor("session_strays", "Datagrams of another session that was not confirmed.", sessions_.strays());
        visitor("other_channels", "Datagrams of other channels of the group.", other_channels_);
        messages_.visit_counters(visitor);
    }

private:
    using Sessions = ConfirmedSession<IexSession>;
    static constexpr bool kHasBooks = HasBooks<Messages>;

    /// Checks the blocks, and prefetches what their messages need if they have much to choose from.
    [[nodiscard]] IexPacket check(std::span<const std::byte> datagram) const noexcept {
        if constexpr (requires(std::span<const std::byte> message) { messages_.prefetch(message); }) {
            if (messages_.has_many_orders()) {
                return IexPacket::read(datagram, Messages::kProtocol,
                                       [this](std::span<const std::byte> message) { messages_.prefetch(message); });
            }
        }
        return IexPacket::read(datagram, Messages::kProtocol, [](auto) {});
    }
    /// Applies a datagram of the current session.
    template <class Handler>
    void apply(std::span<const std::byte> datagram, const IexPacket& packet, const Arrival& arrival, Handler& handler);
    /// Handles a datagram of another session. If that session is confirmed now, applies the datagram and the one held
    /// for it. Returns the number of messages read.
    template <class Handler>
    [[nodiscard]] std::uint32_t apply_other(const Sessions::Datagram& datagram, const IexPacket& packet,
                                            Handler& handler);
    /// Returns the number of messages at the beginning that are old.
    template <class Handler>
    [[nodiscard]] std::uint64_t follow(const IexPacket& packet, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void end_session(const Arrival& arrival, Handler& handler) {
        sessions_.end();
        ended_ = true;
        messages_.clear(ClearReason::end_of_session, false, arrival, handler);
        messages_.mark_incomplete();
    }
    template <class Handler>
    void restart_sender(const Arrival& arrival, Handler& handler) {
        messages_.clear(ClearReason::new_session, false, arrival, handler);
        if constexpr (kHasBooks) messages_.restart_sender();
    }

    std::optional<std::uint32_t> channel_;
    Messages messages_;
    Sessions sessions_;
    SequenceTracker tracker_;
    bool ended_{false};
    core::Tally other_channels_;
};

template <class Messages>
template <EventHandler Handler>
DecodeResult IexDecoder<Messages>::decode(std::span<const std::byte> datagram, const Arrival& arrival,
                                          Handler& handler) {
    auto& counters = messages_.counters();
    counters.datagrams.add();
    counters.bytes.add(datagram.size());
    if constexpr (requires { messages_.expire(std::uint64_t{}, arrival, handler); })
        messages_.expire(tracker_.next() - 1, arrival, handler);
    const auto packet = check(datagram);
    if (packet.error) {
        counters.add_malformed(datagram.size() - packet.end);
        if (!packet.has_header()) return {.error = packet.error};
    }
    if (!accepts(packet.session)) [[unlikely]] {
        other_channels_.add();
        counters.messages.add(packet.messages);
        counters.stale.add(packet.messages);
        return {.messages = packet.messages, .error = packet.error};
    }
    if (sessions_.is_current(packet.session, arrival.receive_utc_ns)) [[likely]] {
        apply(datagram, packet, arrival, handler);
        return {.messages = packet.messages, .error = packet.error};
    }
    const typename Sessions::Datagram other{
        .numbers = {.session = packet.session, .first = packet.sequence, .count = packet.messages},
        .bytes = datagram,
        .arrival = arrival};
    return {.messages = apply_other(other, packet, handler), .error = packet.error};
}

template <class Messages>
template <class Handler>
void IexDecoder<Messages>::apply(std::span<const std::byte> datagram, const IexPacket& packet, const Arrival& arrival,
                                 Handler& handler) {
    const auto old = std::min<std::uint64_t>(follow(packet, arrival, handler), packet.messages);
    if (ended_ && old != packet.messages) [[unlikely]]
        ended_ = false;  // its end was not its last message
    auto place = iex_layout::kHeaderBytes;
    if (old != 0) [[unlikely]] {
        for (std::uint64_t i = 0; i < old; ++i) static_cast<void>(next_iex_block(datagram, place));
        messages_.counters().messages.add(old);
        messages_.counters().stale.add(old);
    }
    for (auto i = old; i < packet.messages; ++i)
        messages_.apply(next_iex_block(datagram, place), packet.sequence + i, arrival, handler);
    if (messages_.take_end()) [[unlikely]]
        end_session(arrival, handler);
}

template <class Messages>
template <class Handler>
std::uint32_t IexDecoder<Messages>::apply_other(const Sessions::Datagram& datagram, const IexPacket& packet,
                                                Handler& handler) {
    // Invalid datagrams must not look like a new session.
    switch (packet.error ? Sessions::Verdict::ignored : sessions_.observe(datagram)) {
        case Sessions::Verdict::joined:
            channel_ = packet.session.channel;
            if constexpr (kHasBooks) {
                if (packet.sequence == 1) messages_.mark_complete();
            }
            apply(datagram.bytes, packet, datagram.arrival, handler);
            return packet.messages;
        case Sessions::Verdict::changed: break;
        case Sessions::Verdict::ignored:
            messages_.counters().messages.add(packet.messages);
            messages_.counters().stale.add(packet.messages);
            return packet.messages;
        case Sessions::Verdict::held:
        case Sessions::Verdict::copy:
        case Sessions::Verdict::foreign: return 0;  // counted when the session is confirmed
    }
    begin_session(packet.session, 1, sessions_.first_arrival(datagram), handler);
    std::uint32_t messages = 0;
    sessions_.apply_confirmed(datagram, [&](const Sessions::Datagram& confirmed) {
        const auto blocks = check(confirmed.bytes);
        apply(confirmed.bytes, blocks, confirmed.arrival, handler);
        messages += blocks.messages;
    });
    return messages;
}

template <class Messages>
template <class Handler>
std::uint64_t IexDecoder<Messages>::follow(const IexPacket& packet, const Arrival& arrival, Handler& handler) {
    const auto step = tracker_.observe(packet.sequence, packet.messages);
    if (step.restarted) restart_sender(arrival, handler);
    if (step.gap()) {
        messages_.mark_incomplete();
        emit(messages_.counters(), handler, make_gap(arrival, step.gap_first, step.gap_last));
    }
    if (packet.messages == 0 && !packet.error) messages_.counters().add_heartbeat(packet.sequence, tracker_.next());
    return step.old;
}

template <class Messages>
struct Sequencing<IexDecoder<Messages>> {
    using Session = IexSession;
    static constexpr std::size_t kAnnouncementBytes = iex_layout::kHeaderBytes;

    [[nodiscard]] static std::optional<SequencedDatagram<Session>> read(std::span<const std::byte> bytes) noexcept {
        IexPacket packet;
        if (IexPacket::read_header(bytes, Messages::kProtocol, packet)) return std::nullopt;
        return SequencedDatagram<Session>{
            .session = packet.session, .first = packet.sequence, .count = packet.messages};
    }
    [[nodiscard]] static bool is_whole(std::span<const std::byte> bytes) noexcept {
        return !IexPacket::read(bytes, Messages::kProtocol, [](auto) {}).error;
    }
    [[nodiscard]] static SessionName name_of(const Session& session) noexcept { return number_name(session.number); }
    static void announce(const Session& session, std::span<std::byte, kAnnouncementBytes> out) noexcept {
        namespace at = iex_layout;
        std::ranges::fill(out, std::byte{});
        out[at::kVersionAt] = std::byte{at::kVersion};
        core::store_le(out.data() + at::kProtocolAt, Messages::kProtocol);
        core::store_le(out.data() + at::kChannelAt, session.channel);
        core::store_le(out.data() + at::kSessionAt, session.number);
        core::store_le(out.data() + at::kSequenceAt, std::uint64_t{1});
    }
    [[nodiscard]] static auto request(const RequestedMessages<Session>& wanted) noexcept {
        return iex_gap_fill_request(Messages::kProtocol, wanted.session,
                                    std::array{IexRange{.first = wanted.first, .last = wanted.last()}});
    }
    /// Length of the segment at the beginning of a server's answer by TCP; nullopt if more bytes are needed.
    [[nodiscard]] static std::optional<std::size_t> segment_length(std::span<const std::byte> bytes) noexcept {
        return iex_segment_length(bytes);
    }
    /// A request that the server answers with a datagram without messages.
    [[nodiscard]] static auto test_request(const Session& session) noexcept {
        return iex_gap_fill_request(Messages::kProtocol, session, std::array<IexRange, 0>{});
    }
};

}  // namespace millpond::feed
