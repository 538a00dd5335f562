"""Bars of trades."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .arguments import checked_text
from .batch import PRICE_SCALE
from .tables import mask_of

if TYPE_CHECKING:
    from .batch import Rows
    from .tables import Readable

_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86_400 * 10**9}

DTYPE = np.dtype(
    [
        ("ts", "<M8[ns]"),
        ("instrument_id", "<u4"),
        ("count", "<i8"),
        ("open", "<f8"),
        ("high", "<f8"),
        ("low", "<f8"),
        ("close", "<f8"),
        ("volume", "<i8"),
        ("vwap", "<f8"),
    ]
)


def interval_ns(interval: str) -> int:
    found = re.fullmatch(r"([0-9]+)(ns|us|ms|s|m|h|d)", checked_text("interval", interval))
    if found is None or int(found[1]) == 0:
        raise ValueError(f"interval: found {interval!r}, must be a number and one of {', '.join(_UNITS)}, such as 1s")
    nanos = int(found[1]) * _UNITS[found[2]]
    if nanos >= 2**63:
        raise ValueError(f"interval: found {interval!r}, must be shorter than 106751 days")
    return nanos


def bars(scan: Readable, interval: str) -> npt.NDArray[Any]:
    """A row for each instrument and interval with trades, by time and instrument. `ts` is the start of the interval.

    Uses exchange time, or receive time if there is none. Trades that the venue cancelled later are left out.
    Memory: that of the trades.
    """
    step = interval_ns(interval)
    price = "price_nanos" if scan.prices == "nanos" else "price"
    trades: list[Rows] = []
    broken: list[Rows] = []
    for batch in scan._read(1 << 20, mask_of("trades", "breaks")):
        if len(batch.trades):
            trades.append(batch.trades[["ts_event", "ts_recv", "instrument_id", price, "size", "trade_id"]])
        if len(batch.breaks):
            broken.append(batch.breaks[["instrument_id", "trade_id"]])
    if not trades:
        return np.empty(0, DTYPE)
    rows = np.concatenate(trades)
    if broken:
        void = np.concatenate(broken)
        rows = rows[~np.isin(_keys(rows), _keys(void))]
    times = np.where(np.isnat(rows["ts_event"]), rows["ts_recv"], rows["ts_event"])
    rows, times = rows[~np.isnat(times)], times[~np.isnat(times)]
    if not len(rows):
        return np.empty(0, DTYPE)
    begins = times.astype(np.int64) // step * step
    order = np.lexsort((rows["instrument_id"], begins))  # stable: trades of a bar stay in their order
    rows, begins = rows[order], begins[order]
    ids = rows["instrument_id"]
    first = np.flatnonzero(np.r_[True, (begins[1:] != begins[:-1]) | (ids[1:] != ids[:-1])])
    last = np.r_[first[1:], len(rows)] - 1
    prices = rows[price].astype(np.float64) / (PRICE_SCALE if price == "price_nanos" else 1)
    sizes = rows["size"]
    result = np.empty(len(first), DTYPE)
    result["ts"] = begins[first].astype("M8[ns]")
    result["instrument_id"] = ids[first]
    result["count"] = last - first + 1
    result["open"], result["close"] = prices[first], prices[last]
    result["high"] = np.maximum.reduceat(prices, first)
    result["low"] = np.minimum.reduceat(prices, first)
    result["volume"] = np.add.reduceat(sizes, first)
    worth = np.add.reduceat(prices * sizes, first)
    volume = result["volume"].astype(np.float64)
    result["vwap"] = np.divide(worth, volume, out=np.full(len(first), np.nan), where=volume > 0)
    return result


def _keys(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    keys = np.empty(len(rows), [("instrument_id", "<u4"), ("trade_id", "<u8")])
    keys["instrument_id"], keys["trade_id"] = rows["instrument_id"], rows["trade_id"]
    return keys.view("V12")
