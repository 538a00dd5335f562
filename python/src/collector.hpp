#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>

#include "rows.hpp"

namespace millpond::python {

/// Which instruments a reader wants: all, or those of these symbols. Asks for an instrument's name once.
///
/// Threads: one.
class SymbolFilter {
public:
    SymbolFilter() = default;
    explicit SymbolFilter(const std::optional<std::vector<std::string>>& symbols) {
        if (symbols) wanted_.emplace(symbols->begin(), symbols->end());
    }

    /// symbol_of(): the instrument's symbol, empty when it is not known (yet). What concerns every instrument of a
    /// channel is always wanted.
    template <class SymbolOf>
    [[nodiscard]] bool wants(feed::InstrumentId id, SymbolOf&& symbol_of) {
        if (!wanted_ || id == feed::kNoInstrument) return true;
        if (id < known_.size() && known_[id] != Known::no) return known_[id] == Known::wanted;
        const std::string_view symbol = symbol_of();
        if (symbol.empty()) return false;
        if (id >= known_.size()) known_.resize(id + std::size_t{1}, Known::no);
        known_[id] = wanted_->contains(symbol) ? Known::wanted : Known::unwanted;
        return known_[id] == Known::wanted;
    }

private:
    enum class Known : std::uint8_t { no, wanted, unwanted };
    std::optional<std::set<std::string, std::less<>>> wanted_;
    std::vector<Known> known_;  // by instrument
};

/// Turns events into rows of a batch.
///
/// Threads: one.
class Collector {
public:
    struct Options {
        bool mantissa{false};                 ///< Prices as integers in 1/10000, not as doubles.
        std::uint32_t only{~0U};              ///< Bit n: rows of TableKind n are wanted.
        std::optional<std::int64_t> start{};  ///< By receive time, or exchange time where there is none.
        std::optional<std::int64_t> end{};    ///< The first time that is not wanted.
        std::int64_t event_shift_ns{0};       ///< Added to exchange times.
    };

    Collector() : Collector(Options{}) {}
    explicit Collector(const Options& options) : options_(options) {}

    [[nodiscard]] Rows& rows() noexcept { return rows_; }
    /// The rows so far. The next ones get as much room at once as these have taken.
    [[nodiscard]] Rows take() {
        auto rows = std::exchange(rows_, {});
        rows_.quotes.reserve(rows.quotes.size());
        rows_.trades.reserve(rows.trades.size());
        return rows;
    }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    /// Events that were left out by time.
    [[nodiscard]] std::uint64_t outside() const noexcept { return outside_; }

    void add(const feed::Quote& quote, std::uint64_t number) {
        const auto event = event_time(quote.exchange_utc_ns);
        if (!admits(TableKind::quotes, quote.receive_utc_ns, event)) return;
        rows_.quotes.push_back({.ts_recv = time(quote.receive_utc_ns),
                                .ts_event = event,
                                .number = number,
                                .sequence = quote.feed_sequence,
                                .bid_price = price(quote.bid_price, quote.bid_size != 0),
                                .ask_price = price(quote.ask_price, quote.ask_size != 0),
                                .bid_size = quote.bid_size,
                                .ask_size = quote.ask_size,
                                .instrument = quote.instrument,
                                .channel = quote.channel,
                                .flags = quote.flags});
    }
    void add(const feed::Trade& trade, std::uint64_t number) {
        const auto event = event_time(trade.exchange_utc_ns);
        if (!admits(TableKind::trades, trade.receive_utc_ns, event)) return;
        rows_.trades.push_back({.ts_recv = time(trade.receive_utc_ns),
                                .ts_event = event,
                                .number = number,
                                .sequence = trade.feed_sequence,
                                .price = price(trade.price, true),
                                .size = trade.size,
                                .trade_id = trade.trade_id,
                                .instrument = trade.instrument,
                                .channel = trade.channel,
                                .flags = trade.flags});
    }
    void add(const feed::TradeBreak& broken, std::uint64_t number) {
        const auto event = event_time(broken.exchange_utc_ns);
        if (!admits(TableKind::breaks, broken.receive_utc_ns, event)) return;
        rows_.breaks.push_back({time(broken.receive_utc_ns), event, number, broken.feed_sequence, broken.trade_id,
                                broken.instrument, broken.channel, 0});
    }
    void add(const feed::Status& status, std::uint64_t number) {
        const auto event = event_time(status.exchange_utc_ns);
        if (!admits(TableKind::statuses, status.receive_utc_ns, event)) return;
        rows_.statuses.push_back({time(status.receive_utc_ns), event, number, status.feed_sequence, status.instrument,
                                  status.channel, static_cast<std::uint16_t>(status.state), status.reason, 0});
    }
    void add(const feed::Gap& gap, std::uint64_t number) {
        if (!admits(TableKind::gaps, gap.receive_utc_ns, kNoTime)) return;
        rows_.gaps.push_back({time(gap.receive_utc_ns), number, gap.first, gap.last, gap.channel,
                              static_cast<std::uint16_t>(gap.reason), 0});
    }
    void add(const feed::Clear& clear, std::uint64_t number) {
        if (!admits(TableKind::clears, clear.receive_utc_ns, kNoTime)) return;
        rows_.clears.push_back({time(clear.receive_utc_ns), number, clear.instrument, clear.channel,
                                static_cast<std::uint16_t>(clear.reason)});
    }
    /// A loss has no place in time that a filter could know: it is always a row.
    void add_lost(std::uint64_t first, std::uint64_t last, std::uint16_t reason, std::int64_t utc_ns) {
        rows_.lost.push_back({time(utc_ns), first, last, reason, {}});
    }

private:
    [[nodiscard]] static std::int64_t time(std::int64_t utc_ns) noexcept { return utc_ns == 0 ? kNoTime : utc_ns; }
    [[nodiscard]] std::int64_t event_time(std::int64_t utc_ns) const noexcept {
        return utc_ns == 0 ? kNoTime : utc_ns + options_.event_shift_ns;
    }
    [[nodiscard]] bool admits(TableKind table, std::int64_t receive_utc_ns, std::int64_t event) noexcept {
        if ((options_.only >> static_cast<unsigned>(table) & 1U) == 0) return false;
        if (!options_.start && !options_.end) return true;
        const auto at = receive_utc_ns != 0 ? receive_utc_ns : event;
        if (at == kNoTime) return true;
        const bool inside = (!options_.start || at >= *options_.start) && (!options_.end || at < *options_.end);
        if (!inside) ++outside_;
        return inside;
    }
    [[nodiscard]] PriceBits price(feed::Price value, bool there) const noexcept {
        if (options_.mantissa) return there ? value : kNoPrice;
        const auto whole = there ? static_cast<double>(value) / static_cast<double>(feed::kPriceScale)
                                 : std::numeric_limits<double>::quiet_NaN();
        return std::bit_cast<PriceBits>(whole);
    }

    Options options_;
    Rows rows_;
    std::uint64_t outside_{0};
};

}  // namespace millpond::python
