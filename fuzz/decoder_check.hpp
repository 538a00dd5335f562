#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>

namespace millpond::feed {

/// Checks invariants of all decoders with arbitrary bytes; used by the fuzz targets and the tests.
///
/// Each datagram is passed as a heap copy of exactly its size, so that AddressSanitizer detects a read outside.
template <class Decoder>
class DecoderCheck {
public:
    DecoderCheck(const InstrumentTable& instruments, Decoder& decoder) : events_{&instruments}, decoder_(&decoder) {}

    /// The first broken invariant; empty if there is none.
    [[nodiscard]] std::string play(std::span<const std::byte> datagram) {
        const std::unique_ptr<std::byte[]> copy{new std::byte[datagram.size()]};
        std::copy(datagram.begin(), datagram.end(), copy.get());
        const Arrival arrival{.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7};
        const auto result = decoder_->decode(std::span<const std::byte>{copy.get(), datagram.size()}, arrival, events_);
        ++datagrams_;
        bytes_ += datagram.size();
        messages_ += result.messages;
        if (result.error) {
            ++errors_;
            expect(result.error->offset <= datagram.size(), "an error's offset lies inside the datagram");
        }
        const auto& counters = decoder_->counters();
        expect(counters.datagrams.read() == datagrams_, "every datagram is counted");
        expect(counters.bytes.read() == bytes_, "every byte is counted");
        expect(counters.malformed.read() == errors_, "every error is counted");
        expect(counters.dropped_bytes.read() <= bytes_, "no more bytes are dropped than came");
        expect(counters.messages.read() == messages_, "every message is counted");
        expect(counters.messages.read() == counters.applied.read() + counters.ignored.read() + counters.unknown.read() +
                                               counters.stale.read() + counters.refused.read() +
                                               counters.rejected.read(),
               "what became of each message is counted");
        expect(counters.quotes.read() == events_.quotes && counters.trades.read() == events_.trades &&
                   counters.trade_breaks.read() == events_.trade_breaks &&
                   counters.statuses.read() == events_.statuses && counters.gaps.read() == events_.gaps &&
                   counters.clears.read() == events_.clears && counters.orders.read() == events_.orders &&
                   counters.levels.read() == events_.levels,
               "every event is counted");
        return broken_.empty() ? events_.broken : broken_;
    }

    /// Decodes an input that consists of datagrams, each after its little-endian u16 length; the last may be cut short.
    [[nodiscard]] std::string play_all(std::span<const std::byte> input) {
        while (input.size() > 2) {
            const std::size_t wanted = core::load_le<std::uint16_t>(input.data());
            input = input.subspan(2);
            const auto length = std::min(wanted, input.size());
            if (auto broken = play(input.first(length)); !broken.empty()) return broken;
            input = input.subspan(length);
        }
        return {};
    }

private:
    struct Events {
        const InstrumentTable* instruments;
        std::uint64_t quotes{0};
        std::uint64_t trades{0};
        std::uint64_t trade_breaks{0};
        std::uint64_t statuses{0};
        std::uint64_t gaps{0};
        std::uint64_t clears{0};
        std::uint64_t orders{0};
        std::uint64_t levels{0};
        std::string broken{};

        void on(const Quote& quote) {
            ++quotes;
            named(quote.instrument, false);
            expect(quote.bid_size != 0 || quote.bid_price == 0, "a bid without shares has no price");
            expect(quote.ask_size != 0 || quote.ask_price == 0, "an ask without shares has no price");
            expect((quote.flags & ~(kQuoteFlags | kLast)) == 0, "a quote has no flags but those that are known");
            expect(quote.receive_utc_ns == 5 && quote.receive_ticks == 6 && quote.channel == 7,
                   "the arrival is copied");
        }
        void on(const Trade& trade) {
            ++trades;
            named(trade.instrument, false);
        }
        void on(const TradeBreak& trade_break) {
            ++trade_breaks;
            named(trade_break.instrument, false);
        }
        void on(const Status& status) {
            ++statuses;
            named(status.instrument, true);
        }
        void on(const Gap& gap) {
            ++gaps;
            expect(gap.first != 0 && gap.first <= gap.last, "a gap has a first and a last number");
        }
        void on(const Clear& clear) {
            ++clears;
            named(clear.instrument, true);
        }
        void on(const Order& order) {
            ++orders;
            named(order.instrument, false);
            expect(order.side != Side::none || order.action == OrderAction::clear, "an order has a side");
            expect(order.size_left <= order.size || order.action != OrderAction::add, "a new order has its size");
        }
        void on(const Level& level) {
            ++levels;
            named(level.instrument, false);
            expect(level.size != 0 || level.orders == 0, "a level without a size has no orders");
        }

    private:
        void named(InstrumentId id, bool or_none) {
            if (or_none && id == kNoInstrument) return;
            expect(id < instruments->size() && !instruments->symbol(id).empty(),
                   "events name instruments of the table");
        }
        void expect(bool holds, const char* promise) {
            if (!holds && broken.empty()) broken = promise;
        }
    };

    void expect(bool holds, const char* promise) {
        if (!holds && broken_.empty()) broken_ = promise;
    }

    Events events_;
    Decoder* decoder_;
    std::uint64_t datagrams_{0};
    std::uint64_t bytes_{0};
    std::uint64_t messages_{0};
    std::uint64_t errors_{0};
    std::string broken_;
};

}  // namespace millpond::feed
