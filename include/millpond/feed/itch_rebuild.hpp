#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/feed/sequencing.hpp>

namespace millpond::feed {

/// A second set of books for a session of which a decoder has missed messages. It is built from message 1 on, from
/// datagrams of any source in nearly any order, and replaces the decoder's when both are at the same number.
///
/// Threads: one at a time.
/// Memory:  as an ItchDecoder, 176 bytes per instrument and `held` datagrams, taken and touched in the constructor.
class ItchRebuild {
public:
    struct Options {
        ItchDecoder::Options decoder{};
        std::size_t instruments{1'024};
        std::size_t held{1'024};  ///< Datagrams that may wait for a missing one; one more fails the attempt.
    };

    explicit ItchRebuild(const Options& options, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// Empties the books and starts to build those of this session. midnight_utc_ns: as ItchDecoder::set_midnight.
    void begin(const moldudp64_layout::Session& session, std::int64_t midnight_utc_ns = 0);
    /// Datagrams of other sessions, and messages received before, change nothing.
    void take(std::span<const std::byte> datagram);

    /// The first message that is still missing.
    [[nodiscard]] std::uint64_t next() const noexcept { return decoder_.sequence().next(); }
    /// The last missing message before the first waiting one; nothing if none waits.
    [[nodiscard]] std::optional<std::uint64_t> missing_until() noexcept;
    /// False if no message can complete these books: call `begin` again.
    [[nodiscard]] bool is_sound() const noexcept { return decoder_.is_complete(); }
    /// Changes of orders that do not exist, or differ from the message, since `begin`. If there are any, the messages
    /// are probably of another session.
    [[nodiscard]] std::uint64_t contradictions() const noexcept { return contradictions_in_all() - before_; }

    /// Gives the books to `to`, whose next message must have the same number in the same session. Its later quotes are
    /// then as without the gap. Publishes the newest quote of every instrument, the states of instruments where `to`
    /// missed a halt or its end, and that of the channel. Returns false, with nothing changed, if `to` is elsewhere or
    /// has no room for the instruments. O(instruments).
    template <EventHandler Handler>
    [[nodiscard]] bool hand_over(ItchDecoder& to, const Arrival& arrival, Handler& handler);

private:
    /// The newest quote and state of each instrument.
    struct Newest {
        explicit Newest(std::size_t instruments, std::pmr::memory_resource* memory)
            : quotes(instruments, memory), states(instruments, memory) {}
        void on(const Quote& quote) noexcept { quotes[quote.instrument] = quote; }
        void on(const Status& status) noexcept {
            (status.instrument == kNoInstrument ? channel : states[status.instrument]) = status;
        }
        void on(const Trade&) noexcept {}
        void on(const TradeBreak&) noexcept {}
        void on(const Gap&) noexcept {}
        void on(const Clear&) noexcept {}
        void forget() noexcept;

        // Where there is none, the sequence number is 0.
        std::pmr::vector<Quote> quotes;
        std::pmr::vector<Status> states;
        Status channel{};
    };
    static void ignore(std::span<const std::byte>, const DecodeResult&) noexcept {}
    [[nodiscard]] auto target() noexcept { return DecoderTarget{decoder_, newest_, &ignore}; }
    [[nodiscard]] std::uint64_t contradictions_in_all() const noexcept;

    InstrumentTable instruments_;
    ItchDecoder decoder_;
    LineArbiter<ItchDecoder> arbiter_;
    Newest newest_;
    std::uint64_t before_{0};  // contradictions of earlier attempts
};

inline ItchRebuild::ItchRebuild(const Options& options, std::pmr::memory_resource* memory)
    : instruments_(options.instruments, memory),
      decoder_(instruments_, options.decoder, memory),
      arbiter_({.held = options.held}, memory),
      newest_(options.instruments, memory) {}

inline void ItchRebuild::Newest::forget() noexcept {
    for (auto& quote : quotes) quote.feed_sequence = 0;
    for (auto& state : states) state.feed_sequence = 0;
    channel.feed_sequence = 0;
}

inline std::uint64_t ItchRebuild::contradictions_in_all() const noexcept {
    return decoder_.unknown_orders().read() + decoder_.inconsistent_orders().read();
}

inline std::optional<std::uint64_t> ItchRebuild::missing_until() noexcept {
    if (!arbiter_.holding()) return std::nullopt;
    return arbiter_.hole(target()).last;
}

inline void ItchRebuild::begin(const moldudp64_layout::Session& session, std::int64_t midnight_utc_ns) {
    auto to = target();
    while (arbiter_.holding()) arbiter_.give_up(to);
    decoder_.restart();
    decoder_.set_midnight(midnight_utc_ns);
    newest_.forget();
    std::array<std::byte, moldudp64_layout::kHeaderBytes> announcement;
    Sequencing<ItchDecoder>::announce(session, announcement);
    to.decode(announcement, {});
    before_ = contradictions_in_all();
}

inline void ItchRebuild::take(std::span<const std::byte> datagram) {
    auto to = target();
    arbiter_.take(LineArbiter<ItchDecoder>::kAnswers, datagram, {}, to);
}

template <EventHandler Handler>
bool ItchRebuild::hand_over(ItchDecoder& to, const Arrival& arrival, Handler& handler) {
    return !arbiter_.holding() && to.adopt(decoder_, newest_, arrival, handler);
}

}  // namespace millpond::feed
