#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/exchange_day.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::feed {

/// Builds a second set of books for a session of which a decoder has missed messages: from message 1 or a snapshot on,
/// from datagrams of any source in nearly any order. The books replace the decoder's once both are at the same number.
///
/// Threads: one at a time.
/// Memory:  as a Decoder, 440 bytes per instrument and `held` datagrams, allocated and touched in the constructor.
template <class Decoder>
class BookRebuilder {
public:
    using Session = typename Sequencing<Decoder>::Session;

    struct Options {
        typename Decoder::Options decoder{};
        std::size_t instruments{1'024};
        std::size_t held{1'024};  ///< Maximum datagrams that wait for a missing one; one more fails the attempt.
    };

    explicit BookRebuilder(const Options& options,
                           std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// Empties the books and starts to build those of this session. midnight_utc_ns: see ItchDecoder::set_midnight; not
    /// used by other decoders. now_utc_ns: for a midnight of the receiver's clock, so that times more than twelve hours
    /// ahead are of the day before; 0: all times are of the midnight's day.
    void begin(const Session& session, std::int64_t midnight_utc_ns = 0, std::int64_t now_utc_ns = 0);
    /// Applies a message of a snapshot, between begin and end_snapshot. Its orders come by priority if
    /// Decoder::kSnapshotsByPriority is true; otherwise in any order, and their numbers give their priority. Returns
    /// what makes the snapshot unusable, as an object of "it has"; empty: nothing.
    [[nodiscard]] std::string add_snapshot(std::span<const std::byte> message) {
        if constexpr (requires { decoder_.books().apply_snapshot(message, arrival_, newest_); }) {
            return decoder_.books().apply_snapshot(message, arrival_, newest_);
        } else {
            decoder_.books().begin_snapshot();
            decoder_.books().apply(message, 1, arrival_, newest_);
            return {};
        }
    }
    /// The snapshot is complete; `next` is the number of the first message that it does not have, at least 1.
    void end_snapshot(std::uint64_t next) noexcept;
    /// Applies a datagram, or holds it until the missing messages before it arrive. Datagrams of other sessions,
    /// messages received before and heartbeats change nothing.
    void add(std::span<const std::byte> datagram);

    /// Number of the first missing message.
    [[nodiscard]] std::uint64_t next() const noexcept { return decoder_.sequence().next(); }
    /// Number of the last missing message before the first held one; nullopt if none is held.
    [[nodiscard]] std::optional<std::uint64_t> missing_until() noexcept;
    /// Whether the session has ended with the last message of the snapshot or datagrams.
    [[nodiscard]] bool has_ended() const noexcept {
        if constexpr (requires { decoder_.has_ended(); }) return decoder_.has_ended();
        return false;
    }
    /// False if no message can complete these books, nor has their session ended: call `begin` again.
    [[nodiscard]] bool is_sound() const noexcept { return has_ended() || decoder_.books().is_complete(); }
    /// Number of changes since `begin` that contradict the books: of orders that do not exist, or that differ from the
    /// message. Above 0, the messages are probably of another session.
    [[nodiscard]] std::uint64_t contradictions() const noexcept { return contradictions_in_all() - before_; }
    /// Number of orders and levels since `begin` for which there was no room, or whose price does not fit.
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_in_all() - refused_before_; }

    /// Prepares hand_over, which needs it if orders are sent; more datagrams may follow.
    /// O(capacity of the books + orders x log orders).
    void prepare() noexcept { decoder_.books().prepare_to_move(); }
    /// Moves the books to `to`, whose next message must have the same number in the same session. Its later quotes are
    /// then as without the gap. Publishes the newest quote of every instrument, the states of instruments of which `to`
    /// missed a halt or its end, and that of the channel; orders and levels follow by Decoder::publish_snapshots.
    /// Returns false, with nothing changed, if `to` is at another message or cannot add the instruments.
    /// O(instruments).
    template <EventHandler Handler>
    [[nodiscard]] bool hand_over(Decoder& to, const Arrival& arrival, Handler& handler);

    /// Publishes the newest Definition and Bands of up to `max` instruments, after hand_over and before the next begin.
    /// Returns the number of instruments, 0 if none is left.
    template <EventHandler Handler>
    std::size_t publish_announcements(std::size_t max, Handler& handler);
    [[nodiscard]] bool has_announcements() const noexcept { return next_announcement_ < instruments_.size(); }
    /// Forgets those that were not published.
    void drop_announcements() noexcept { next_announcement_ = kNone; }

private:
    static constexpr auto kNone = std::numeric_limits<std::size_t>::max();

    /// The newest quote, state and announcements of each instrument.
    struct Newest {
        explicit Newest(std::size_t instruments, std::pmr::memory_resource* memory)
            : quotes(instruments, memory), states(instruments, memory), announcements(instruments, memory) {}
        void on(const Quote& quote) noexcept { quotes[quote.instrument] = quote; }
        void on(const Status& status) noexcept {
            (status.instrument == kNoInstrument ? channel : states[status.instrument]) = status;
        }
        void on(const Definition& definition) noexcept { announcements[definition.instrument].definition = definition; }
        void on(const Band& band) noexcept {
            auto& announced = announcements[band.instrument];
            (band.band == BandKind::short_sale ? announced.short_sale : announced.collar) = band;
        }
        void on(const Trade&) noexcept {}
        void on(const TradeBreak&) noexcept {}
        void on(const Gap&) noexcept {}
        void on(const Order&) noexcept {}  // without it the builder would not check the order of their numbers
        void on(const Clear&) noexcept {}
        void forget() noexcept;
        /// Gives all events this sequence number.
        void renumber(std::uint64_t number) noexcept;
        /// Makes the announcements of an instrument those of one of the decoder that takes the books.
        void move(InstrumentId from, InstrumentId to, std::uint64_t number, const Arrival& arrival) noexcept;

        /// What is published again of an instrument, beside its quote and state.
        struct Announced {
            Definition definition{};
            Band collar{};
            Band short_sale{};
            bool is_moved{false};
            template <class Visitor>
            void visit(Visitor&& visitor) {
                visitor(definition);
                visitor(collar);
                visitor(short_sale);
            }
        };
        // Entries without an event have the sequence number 0.
        std::pmr::vector<Quote> quotes;
        std::pmr::vector<Status> states;
        std::pmr::vector<Announced> announcements;
        Status channel{};
    };
    static void ignore(std::span<const std::byte>, const DecodeResult&) noexcept {}
    [[nodiscard]] auto target() noexcept { return DecoderTarget{decoder_, newest_, &ignore}; }
    [[nodiscard]] std::uint64_t refused_in_all() const noexcept {
        return decoder_.refused_orders().read() + decoder_.books().refused_prices().read();
    }
    [[nodiscard]] std::uint64_t contradictions_in_all() const noexcept;

    InstrumentTable instruments_;
    Decoder decoder_;
    LineArbiter<Decoder> arbiter_;
    Newest newest_;
    Arrival arrival_;          // of all datagrams
    std::uint64_t before_{0};  // contradictions of earlier attempts
    std::uint64_t refused_before_{0};
    std::size_t next_announcement_{kNone};  // of the instrument that is published next
};

template <class Decoder>
BookRebuilder<Decoder>::BookRebuilder(const Options& options, std::pmr::memory_resource* memory)
    : instruments_(options.instruments, memory),
      decoder_(instruments_, options.decoder, memory),
      arbiter_({.held = options.held}, memory),
      newest_(options.instruments, memory) {}

template <class Decoder>
void BookRebuilder<Decoder>::Newest::forget() noexcept {
    for (auto& quote : quotes) quote.feed_sequence = 0;
    for (auto& state : states) state.feed_sequence = 0;
    for (auto& announced : announcements) {
        announced.visit([](auto& event) { event.feed_sequence = 0; });
        announced.is_moved = false;
    }
    channel.feed_sequence = 0;
}

template <class Decoder>
void BookRebuilder<Decoder>::Newest::move(InstrumentId from, InstrumentId to, std::uint64_t number,
                                          const Arrival& arrival) noexcept {
    announcements[from].is_moved = true;
    announcements[from].visit([&](auto& event) {
        if (event.feed_sequence == 0) return;
        event.instrument = to;
        event.channel = arrival.channel;
        event.feed_sequence = number;
        event.receive_utc_ns = arrival.receive_utc_ns;
        event.receive_ticks = arrival.receive_ticks;
    });
}

template <class Decoder>
void BookRebuilder<Decoder>::Newest::renumber(std::uint64_t number) noexcept {
    const auto set = [number](auto& event) {
        if (event.feed_sequence != 0) event.feed_sequence = number;
    };
    for (auto& quote : quotes) set(quote);
    for (auto& state : states) set(state);
    set(channel);
}

template <class Decoder>
void BookRebuilder<Decoder>::end_snapshot(std::uint64_t next) noexcept {
    decoder_.books().end_snapshot();
    decoder_.continue_at(next);
    newest_.renumber(std::max<std::uint64_t>(next - 1, 1));
}

template <class Decoder>
std::uint64_t BookRebuilder<Decoder>::contradictions_in_all() const noexcept {
    return decoder_.books().unknown_orders().read() + decoder_.books().inconsistent_orders().read();
}

template <class Decoder>
std::optional<std::uint64_t> BookRebuilder<Decoder>::missing_until() noexcept {
    if (!arbiter_.holding()) return std::nullopt;
    return arbiter_.gap(target()).last;
}

template <class Decoder>
void BookRebuilder<Decoder>::begin(const Session& session, std::int64_t midnight_utc_ns, std::int64_t now_utc_ns) {
    auto to = target();
    while (arbiter_.holding()) arbiter_.give_up(to);
    decoder_.restart();
    if constexpr (requires { decoder_.set_midnight(midnight_utc_ns, true); })
        decoder_.set_midnight(midnight_utc_ns, now_utc_ns != 0);
    // Noon at the latest: messages were sent before, so none is of the day after.
    arrival_.receive_utc_ns = std::min(now_utc_ns, midnight_utc_ns + ExchangeDay::kDayNs / 2);
    newest_.forget();
    std::array<std::byte, Sequencing<Decoder>::kAnnouncementBytes> announcement;
    Sequencing<Decoder>::announce(session, announcement);
    to.decode(announcement, {});
    before_ = contradictions_in_all();
    refused_before_ = refused_in_all();
}

template <class Decoder>
void BookRebuilder<Decoder>::add(std::span<const std::byte> datagram) {
    const auto numbers = Sequencing<Decoder>::read(datagram);
    if (numbers && numbers->count == 0) return;
    auto to = target();
    arbiter_.receive(LineArbiter<Decoder>::kAnswers, datagram, arrival_, to);
}

template <class Decoder>
template <EventHandler Handler>
bool BookRebuilder<Decoder>::hand_over(Decoder& to, const Arrival& arrival, Handler& handler) {
    if (arbiter_.holding() || !to.adopt(decoder_, newest_, arrival, handler)) return false;
    next_announcement_ = 0;
    return true;
}

template <class Decoder>
template <EventHandler Handler>
std::size_t BookRebuilder<Decoder>::publish_announcements(std::size_t max, Handler& handler) {
    std::size_t count = 0;
    for (; count < max && has_announcements(); ++next_announcement_, ++count) {
        auto& announced = newest_.announcements[next_announcement_];
        if (!announced.is_moved) continue;
        announced.visit([&]<class Event>(const Event& event) {
            if constexpr (HandlerOf<Handler, Event>) {
                if (event.feed_sequence != 0) handler.on(event);
            }
        });
    }
    return count;
}

}  // namespace millpond::feed
