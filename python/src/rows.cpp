#include "rows.hpp"

namespace millpond::python {
namespace {

using enum ColumnKind;

// clang-format off
constexpr Column kQuotes[] = {
    {"ts_recv", time, offsetof(QuoteRow, ts_recv)},
    {"ts_event", time, offsetof(QuoteRow, ts_event)},
    {"number", number64, offsetof(QuoteRow, number)},
    {"sequence", number64, offsetof(QuoteRow, sequence)},
    {"bid_px_00", price, offsetof(QuoteRow, bid_price)},
    {"ask_px_00", price, offsetof(QuoteRow, ask_price)},
    {"bid_sz_00", number64, offsetof(QuoteRow, bid_size)},
    {"ask_sz_00", number64, offsetof(QuoteRow, ask_size)},
    {"instrument_id", instrument, offsetof(QuoteRow, instrument)},
    {"channel", number16, offsetof(QuoteRow, channel)},
    {"flags", number16, offsetof(QuoteRow, flags)},
};
constexpr Column kTrades[] = {
    {"ts_recv", time, offsetof(TradeRow, ts_recv)},
    {"ts_event", time, offsetof(TradeRow, ts_event)},
    {"number", number64, offsetof(TradeRow, number)},
    {"sequence", number64, offsetof(TradeRow, sequence)},
    {"price", price, offsetof(TradeRow, price)},
    {"size", number64, offsetof(TradeRow, size)},
    {"trade_id", number64, offsetof(TradeRow, trade_id)},
    {"instrument_id", instrument, offsetof(TradeRow, instrument)},
    {"channel", number16, offsetof(TradeRow, channel)},
    {"flags", number16, offsetof(TradeRow, flags)},
};
constexpr Column kBreaks[] = {
    {"ts_recv", time, offsetof(BreakRow, ts_recv)},
    {"ts_event", time, offsetof(BreakRow, ts_event)},
    {"number", number64, offsetof(BreakRow, number)},
    {"sequence", number64, offsetof(BreakRow, sequence)},
    {"trade_id", number64, offsetof(BreakRow, trade_id)},
    {"instrument_id", instrument, offsetof(BreakRow, instrument)},
    {"channel", number16, offsetof(BreakRow, channel)},
};
constexpr Column kStatuses[] = {
    {"ts_recv", time, offsetof(StatusRow, ts_recv)},
    {"ts_event", time, offsetof(StatusRow, ts_event)},
    {"number", number64, offsetof(StatusRow, number)},
    {"sequence", number64, offsetof(StatusRow, sequence)},
    {"instrument_id", instrument, offsetof(StatusRow, instrument)},
    {"channel", number16, offsetof(StatusRow, channel)},
    {"state", number16, offsetof(StatusRow, state)},
    {"reason", text4, offsetof(StatusRow, reason)},
};
constexpr Column kGaps[] = {
    {"ts_recv", time, offsetof(GapRow, ts_recv)},
    {"number", number64, offsetof(GapRow, number)},
    {"first", number64, offsetof(GapRow, first)},
    {"last", number64, offsetof(GapRow, last)},
    {"channel", number16, offsetof(GapRow, channel)},
    {"reason", number16, offsetof(GapRow, reason)},
};
constexpr Column kClears[] = {
    {"ts_recv", time, offsetof(ClearRow, ts_recv)},
    {"number", number64, offsetof(ClearRow, number)},
    {"instrument_id", instrument, offsetof(ClearRow, instrument)},
    {"channel", number16, offsetof(ClearRow, channel)},
    {"reason", number16, offsetof(ClearRow, reason)},
};
constexpr Column kLost[] = {
    {"ts_recv", time, offsetof(LostRow, ts_recv)},
    {"first", number64, offsetof(LostRow, first)},
    {"last", number64, offsetof(LostRow, last)},
    {"reason", number16, offsetof(LostRow, reason)},
};
// clang-format on

constexpr std::array<Table, kTables> kAll{{
    {"quotes", TableKind::quotes, sizeof(QuoteRow), kQuotes},
    {"trades", TableKind::trades, sizeof(TradeRow), kTrades},
    {"breaks", TableKind::breaks, sizeof(BreakRow), kBreaks},
    {"statuses", TableKind::statuses, sizeof(StatusRow), kStatuses},
    {"gaps", TableKind::gaps, sizeof(GapRow), kGaps},
    {"clears", TableKind::clears, sizeof(ClearRow), kClears},
    {"lost", TableKind::lost, sizeof(LostRow), kLost},
}};

}  // namespace

std::span<const Table, kTables> tables() noexcept { return kAll; }

}  // namespace millpond::python
