#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>

#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/detail/iex_announcements.hpp>
#include <millpond/feed/detail/iex_instruments.hpp>
#include <millpond/feed/detail/instrument_state.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/iex_decoder.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/instrument_table.hpp>

namespace millpond::feed {

/// Makes a Quote of each quote of IEX TOPS, and the events of IexAnnouncements of the other messages.
///
/// A quote holds both sides, so that it is complete also after a loss. It is halted if it says so, or if the
/// instrument's last trading status or operational halt since the last loss does; a change of these publishes the
/// instrument's quote again. A quote that cannot be read is a gap.
///
/// Threads: one; counters() may be read on any.
/// Memory:  IexInstruments of the table's capacity, allocated once in the constructor.
class IexTops : public IexAnnouncements<IexTops> {
public:
    static constexpr std::uint16_t kProtocol = iex_layout::kTops;
    struct Options {
        Venue venue{"IEXG"};
    };

    IexTops(InstrumentTable& instruments, const Options& options, std::pmr::memory_resource* memory)
        : instruments_(instruments, options.venue, instruments.capacity(), memory) {}

    /// Applies one message without framing.
    template <EventHandler Handler>
    void apply(std::span<const std::byte> message, std::uint64_t sequence, const Arrival& arrival, Handler& handler);

    /// Forgets all quotes and publishes a Clear. The states of halted instruments become unknown, and with a new
    /// session the state of the channel too.
    template <class Handler>
    void clear(ClearReason reason, bool, const Arrival& arrival, Handler& handler);
    /// Something was lost.
    void mark_incomplete() noexcept { ++generation_; }
    /// True once the session's last message was applied; then false until the next one.
    [[nodiscard]] bool take_end() noexcept { return std::exchange(ended_, false); }

    [[nodiscard]] DecodeCounters& counters() noexcept { return counters_; }
    [[nodiscard]] const DecodeCounters& counters() const noexcept { return counters_; }
    template <class Visitor>
    void visit_counters(Visitor&&) const {}

private:
    friend class IexAnnouncements<IexTops>;

    static constexpr std::uint16_t kTradeFlags = 0;

    struct Entry {
        InstrumentId instrument{kNoInstrument};
        std::uint32_t generation{0};  ///< Number of losses before the newest quote or state.
        InstrumentState trading{};    ///< Since the last loss.
        bool has_quote{false};        ///< The quote below is of this generation.
        std::uint16_t flags{0};       ///< Of the last published quote.
        Quote quote{};                ///< The last one, with the flags of its message.
    };

    [[nodiscard]] IexInstruments<Entry>& instruments() noexcept { return instruments_; }
    /// The entry of an instrument without what was known before the last loss.
    [[nodiscard]] Entry& current(std::uint16_t number) noexcept {
        auto& entry = instruments_[number];
        if (entry.generation != generation_) {
            entry.generation = generation_;
            entry.has_quote = false;
            entry.trading = {};
        }
        return entry;
    }
    void on_system_state(TradingState state) noexcept {
        has_channel_state_ = true;
        ended_ = ended_ || state == TradingState::end_of_messages;
    }
    template <class Handler>
    void publish_halt(std::uint16_t number, const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_quote(const IexMessage& message, Handler& handler);
    template <class Handler>
    void lose(std::uint64_t sequence, const Arrival& arrival, Handler& handler);

    IexInstruments<Entry> instruments_;
    std::uint32_t generation_{1};
    std::uint64_t quotes_at_loss_{0};
    bool has_channel_state_{false};
    bool ended_{false};
    DecodeCounters counters_;
};

using IexTopsDecoder = IexDecoder<IexTops>;

template <EventHandler Handler>
void IexTops::apply(std::span<const std::byte> bytes, std::uint64_t sequence, const Arrival& arrival,
                    Handler& handler) {
    counters_.messages.add();
    const char type = bytes.empty() ? '\0' : static_cast<char>(bytes[0]);
    const IexMessage message{bytes.data(), sequence, arrival};
    if (type == 'Q') [[likely]] {
        if (bytes.size() >= iex_layout::quote::kBytes) return on_quote(message, handler);
        return lose(sequence, arrival, handler);
    }
    const auto least = shared_bytes(type);
    if (least == 0) return counters_.unknown.add();
    if (bytes.size() < least) return counters_.rejected.add();
    apply_shared(type, message, 0, handler);
}

template <class Handler>
void IexTops::on_quote(const IexMessage& message, Handler& handler) {
    namespace at = iex_layout::quote;
    const auto number = instruments_.find_or_name(message.bytes + iex_layout::kSymbolAt);
    if (number >= IexInstruments<Entry>::kMaxBooks) [[unlikely]] {
        if (number == IexInstruments<Entry>::kNone) return counters_.refused.add();
        return lose(message.sequence, message.arrival, handler);
    }
    auto quote = start_event<Quote>(message);
    quote.bid_size = message.size(at::kBidSizeAt);
    quote.ask_size = message.size(at::kAskSizeAt);
    const auto bid = quote.bid_size != 0 ? message.number(at::kBidPriceAt) : 0;
    const auto ask = quote.ask_size != 0 ? message.number(at::kAskPriceAt) : 0;
    if (!is_iex_price(bid) || !is_iex_price(ask)) return lose(message.sequence, message.arrival, handler);
    quote.bid_price = iex_price(bid);
    quote.ask_price = iex_price(ask);
    auto& entry = current(number);
    quote.instrument = entry.instrument;
    quote.flags = (message.flags() & at::kNotAvailable) != 0 ? kHalted : 0;
    entry.quote = quote;
    entry.has_quote = true;
    if (entry.trading.is_halted()) quote.flags = kHalted;
    entry.flags = quote.flags;
    counters_.applied.add();
    emit(counters_, handler, quote);
}

template <class Handler>
void IexTops::publish_halt(std::uint16_t number, const IexMessage& message, Handler& handler) {
    auto& entry = current(number);
    if (!entry.has_quote) return;
    auto quote = start_event<Quote>(message);
    quote.instrument = entry.instrument;
    quote.bid_price = entry.quote.bid_price;
    quote.ask_price = entry.quote.ask_price;
    quote.bid_size = entry.quote.bid_size;
    quote.ask_size = entry.quote.ask_size;
    quote.flags = entry.trading.is_halted() ? std::uint16_t{kHalted} : entry.quote.flags;
    if (std::exchange(entry.flags, quote.flags) != quote.flags) emit(counters_, handler, quote);
}

template <class Handler>
void IexTops::lose(std::uint64_t sequence, const Arrival& arrival, Handler& handler) {
    counters_.rejected.add();
    mark_incomplete();
    // Quotes from before the last loss are already incomplete.
    if (std::exchange(quotes_at_loss_, counters_.quotes.read()) == counters_.quotes.read()) return;
    emit(counters_, handler, make_gap(arrival, sequence, sequence, GapReason::rejected));
}

template <class Handler>
void IexTops::clear(ClearReason reason, bool, const Arrival& arrival, Handler& handler) {
    emit(counters_, handler, make_clear(arrival, reason));
    forget_states<Entry>(instruments_.entries(), has_channel_state_, reason, arrival, counters_, handler);
    instruments_.clear();
}

}  // namespace millpond::feed
