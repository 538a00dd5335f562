#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include <millpond/feed/bbo28_layout.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/name_text.hpp>
#include <millpond/feed/wire_key_index.hpp>

namespace millpond::feed {

/// Makes a Quote of each bbo28 datagram.
///
/// Threads: one; counters() may be read on any.
/// Memory:  a WireKeyIndex of the table's capacity, allocated once from `memory` in the constructor.
class Bbo28Decoder {
public:
    struct Options {
        Venue venue{};  ///< The format carries no venue.
    };

    Bbo28Decoder(InstrumentTable& instruments, const Options& options,
                 std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    template <EventHandler Handler>
    DecodeResult decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler);

    [[nodiscard]] const DecodeCounters& counters() const noexcept { return counters_; }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        counters_.visit(visitor);
        visitor("spread_mismatches", "Messages whose spread is not ask minus bid.", spread_mismatches_);
    }

private:
    InstrumentTable* instruments_;
    Options options_;
    WireKeyIndex index_;
    DecodeCounters counters_;
    core::Tally spread_mismatches_;
};

inline Bbo28Decoder::Bbo28Decoder(InstrumentTable& instruments, const Options& options,
                                  std::pmr::memory_resource* memory)
    : instruments_(&instruments), options_(options), index_(instruments.capacity(), memory) {}

template <EventHandler Handler>
DecodeResult Bbo28Decoder::decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler) {
    counters_.datagrams.add();
    counters_.bytes.add(datagram.size());
    if (datagram.size() < kBbo28Bytes) {
        counters_.add_malformed(datagram.size());
        return {.error = DecodeError{DecodeErrorKind::truncated, 0, datagram.size(), kBbo28Bytes}};
    }
    counters_.messages.add();
    const Bbo28View message(datagram.data() + datagram.size() - kBbo28Bytes);
    const auto key = message.symbol();
    auto id = index_.find(key);
    if (id == kNoInstrument) [[unlikely]] {
        const auto name = padded_name<Symbol::capacity()>(message.symbol_bytes());
        if (!name) {
            counters_.rejected.add();
            counters_.add_malformed(datagram.size());
            return {.messages = 1,
                    .error = DecodeError{DecodeErrorKind::bad_symbol, datagram.size() - 8, key >> 56, 0x7E}};
        }
        id = instruments_->find_or_add(options_.venue, *name);
        if (id == kNoInstrument) {
            counters_.refused.add();
            return {.messages = 1};
        }
        index_.add(key, id);
    }
    Quote quote;
    quote.instrument = id;
    quote.channel = arrival.channel;
    quote.ask_size = message.ask_size();
    quote.bid_size = message.bid_size();
    quote.ask_price = quote.ask_size != 0 ? price_from<kBbo28Scale>(message.ask_price()) : 0;
    quote.bid_price = quote.bid_size != 0 ? price_from<kBbo28Scale>(message.bid_price()) : 0;
    quote.receive_utc_ns = arrival.receive_utc_ns;
    quote.receive_ticks = arrival.receive_ticks;
    const bool both = quote.bid_size != 0 && quote.ask_size != 0;
    if (both && message.spread() != message.ask_price() - message.bid_price()) spread_mismatches_.add();
    counters_.applied.add();
    emit(counters_, handler, quote);
    return {.messages = 1};
}

}  // namespace millpond::feed
