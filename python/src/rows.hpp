#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <millpond/core/fixed_string.hpp>

#include "pages.hpp"

/// The tables that Python sees, a row a struct: numpy reads the bytes as they are, Arrow gets a column an array.
namespace millpond::python {

inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();   ///< numpy's NaT.
inline constexpr std::int64_t kNoPrice = std::numeric_limits<std::int64_t>::max();  ///< As in databento's formats.

/// A price in 1/10000, or the bits of a double in whole units, as the reader asked for.
using PriceBits = std::int64_t;

struct QuoteRow {
    std::int64_t ts_recv, ts_event;
    std::uint64_t number, sequence;
    PriceBits bid_price, ask_price;
    std::uint64_t bid_size, ask_size;
    std::uint32_t instrument;
    std::uint16_t channel, flags;
};

struct TradeRow {
    std::int64_t ts_recv, ts_event;
    std::uint64_t number, sequence;
    PriceBits price;
    std::uint64_t size, trade_id;
    std::uint32_t instrument;
    std::uint16_t channel, flags;
};

struct BreakRow {
    std::int64_t ts_recv, ts_event;
    std::uint64_t number, sequence, trade_id;
    std::uint32_t instrument;
    std::uint16_t channel, reserved;
};

struct StatusRow {
    std::int64_t ts_recv, ts_event;
    std::uint64_t number, sequence;
    std::uint32_t instrument;
    std::uint16_t channel, state;
    core::FixedString<4> reason;
    std::uint32_t reserved;
};

struct GapRow {
    std::int64_t ts_recv;
    std::uint64_t number, first, last;
    std::uint16_t channel, reason;
    std::uint32_t reserved;
};

struct ClearRow {
    std::int64_t ts_recv;
    std::uint64_t number;
    std::uint32_t instrument;
    std::uint16_t channel, reason;
};

/// Numbers first..last that the reader lost before it read them.
struct LostRow {
    std::int64_t ts_recv;
    std::uint64_t first, last;
    std::uint16_t reason;
    std::array<std::uint16_t, 3> reserved;
};

enum class ColumnKind : std::uint8_t {
    time,        ///< Nanoseconds UTC; kNoTime is none.
    price,       ///< kNoPrice, or NaN, is none.
    number64,    ///< Unsigned, as the next.
    number16,    ///< Likewise.
    instrument,  ///< A 32-bit number; in Arrow the names behind it, too.
    text4,       ///< Up to four characters.
};

struct Column {
    const char* name;
    ColumnKind kind;
    std::size_t offset;
};

enum class TableKind : std::uint8_t { quotes, trades, breaks, statuses, gaps, clears, lost };
inline constexpr std::size_t kTables = 7;

struct Table {
    const char* name;
    TableKind kind;
    std::size_t row_bytes;
    std::span<const Column> columns;
};

/// In the order of TableKind.
[[nodiscard]] std::span<const Table, kTables> tables() noexcept;

template <class Row>
using RowVector = std::vector<Row, PageAllocator<Row>>;

/// A batch: rows of each table, in the order in which they came.
struct Rows {
    RowVector<QuoteRow> quotes;
    RowVector<TradeRow> trades;
    RowVector<BreakRow> breaks;
    RowVector<StatusRow> statuses;
    RowVector<GapRow> gaps;
    RowVector<ClearRow> clears;
    RowVector<LostRow> lost;

    [[nodiscard]] std::size_t size() const noexcept {
        return quotes.size() + trades.size() + breaks.size() + statuses.size() + gaps.size() + clears.size() +
               lost.size();
    }
    /// Calls visit(kind, vector) for each table.
    template <class Visitor>
    void visit(Visitor&& visitor) {
        visitor(TableKind::quotes, quotes);
        visitor(TableKind::trades, trades);
        visitor(TableKind::breaks, breaks);
        visitor(TableKind::statuses, statuses);
        visitor(TableKind::gaps, gaps);
        visitor(TableKind::clears, clears);
        visitor(TableKind::lost, lost);
    }
};

}  // namespace millpond::python
