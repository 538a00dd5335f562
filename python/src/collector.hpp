#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/event_schema.hpp>
#include <millpond/journal/layout.hpp>

#include "rows.hpp"

namespace millpond::python {

/// Filters instruments: all, or those with these symbols. Looks up an instrument's name once.
///
/// Threads: one.
class SymbolFilter {
public:
    SymbolFilter() = default;
    explicit SymbolFilter(const std::optional<std::vector<std::string>>& symbols) {
        if (symbols) wanted_.emplace(symbols->begin(), symbols->end());
    }

    /// Whether events of the instrument are wanted. symbol_of(): returns the instrument's symbol, empty if it is not
    /// known (yet). Events of every instrument of a channel are always wanted.
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
    std::vector<Known> known_;  // indexed by instrument
};

/// Turns events into rows of a batch.
///
/// Threads: one.
class Collector {
public:
    struct Options {
        bool nanos{false};                    ///< Prices as integers in 1/kPriceScale, not as doubles.
        std::uint32_t only{~0U};              ///< Bit n: include rows of table n.
        std::optional<std::int64_t> start{};  ///< First receive time, or exchange time if there is none.
        std::optional<std::int64_t> end{};    ///< The first excluded time.
        std::int64_t event_shift_ns{0};       ///< Added to exchange times.
    };

    Collector() : Collector(Options{}) {}
    explicit Collector(const Options& options) : options_(options) {}

    [[nodiscard]] static std::int64_t size(std::uint64_t value) noexcept {
        constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
        return static_cast<std::int64_t>(std::min(value, kMax));
    }

    [[nodiscard]] Rows& rows() noexcept { return rows_; }
    /// Returns the rows so far. The next rows reserve as much memory as these have used.
    [[nodiscard]] Rows drain() {
        auto rows = std::exchange(rows_, {});
        rows_.of<feed::Quote>().reserve(rows.of<feed::Quote>().size());
        rows_.of<feed::Trade>().reserve(rows.of<feed::Trade>().size());
        return rows;
    }
    [[nodiscard]] const Options& options() const noexcept { return options_; }
    /// Number of events outside the time range.
    [[nodiscard]] std::uint64_t outside() const noexcept { return outside_; }

    template <class Event>
    void add(const Event& event, std::uint64_t number) {
        auto exchange = kNoTime;
        if constexpr (requires { event.exchange_utc_ns; }) exchange = event_time(event.exchange_utc_ns);
        if (!admits(kTableIndex<Event>, event.receive_utc_ns, exchange)) return;
        auto& row = append(event);
        std::memcpy(&row.cells[kRowLayout<Event>.number], &number, sizeof number);
    }
    /// A loss has no time that a filter could compare, so it is always a row.
    void add(const journal::LostRecord& lost) { append(lost); }

private:
    [[nodiscard]] static std::int64_t time(std::int64_t utc_ns) noexcept { return utc_ns == 0 ? kNoTime : utc_ns; }
    [[nodiscard]] std::int64_t event_time(std::int64_t utc_ns) const noexcept {
        return utc_ns == 0 ? kNoTime : utc_ns + options_.event_shift_ns;
    }
    template <class Event>
    Row<Event>& append(const Event& event) {
        auto& row = rows_.of<Event>().emplace_back();
        feed::for_each_field<Event>([&]<std::size_t I>() {
            if constexpr (constexpr const auto& kField = std::get<I>(feed::EventSchema<Event>::kFields);
                          !kField.column.empty()) {
                const auto cell = cell_of<kField.unit>(kField.of(event), kField.exists_in(event));
                std::memcpy(&row.cells[kRowLayout<Event>.offsets[I]], &cell, sizeof cell);
            }
        });
        return row;
    }
    template <feed::Unit unit, class Value>
    [[nodiscard]] auto cell_of(const Value& value, bool exists) const noexcept {
        if constexpr (unit == feed::Unit::receive_time) {
            return time(value);
        } else if constexpr (unit == feed::Unit::exchange_time) {
            return event_time(value);
        } else if constexpr (unit == feed::Unit::price) {
            return price(value, exists);
        } else if constexpr (unit == feed::Unit::size) {
            return size(value);
        } else if constexpr (std::is_enum_v<Value>) {
            return static_cast<std::uint16_t>(value);
        } else {
            return value;
        }
    }
    [[nodiscard]] bool admits(std::size_t table, std::int64_t receive_utc_ns, std::int64_t event) noexcept {
        if ((options_.only >> table & 1U) == 0) return false;
        if (!options_.start && !options_.end) return true;
        const auto at = receive_utc_ns != 0 ? receive_utc_ns : event;
        if (at == kNoTime) return true;
        const bool inside = (!options_.start || at >= *options_.start) && (!options_.end || at < *options_.end);
        if (!inside) ++outside_;
        return inside;
    }
    [[nodiscard]] PriceBits price(feed::Price value, bool there) const noexcept {
        return price_cell(there ? value : feed::kNoPrice, options_.nanos);
    }

    Options options_;
    Rows rows_;
    std::uint64_t outside_{0};
};

}  // namespace millpond::python
