"""Input of the package hftbacktest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .arguments import checked_int, checked_path, checked_text
from .whole_file import whole

if TYPE_CHECKING:
    from .tables import Readable

EVENT = np.dtype(
    [
        ("ev", "<u8"), ("exch_ts", "<i8"), ("local_ts", "<i8"), ("px", "<f8"), ("qty", "<f8"), ("order_id", "<u8"),
        ("ival", "<i8"), ("fval", "<f8"),
    ],
    align=True,
)  # fmt: skip
_DEPTH, _TRADE = 1, 2
_EXCH, _LOCAL, _BUY, _SELL = 1 << 31, 1 << 30, 1 << 29, 1 << 28


def write(scan: Readable, path: str | os.PathLike[str], symbol: str, latency_ns: int) -> None:
    """See Scan.to_hftbacktest."""
    one = scan._only_symbol(checked_text("symbol", symbol))
    latency_ns = checked_int("latency_ns", latency_ns, 0, 2**62)
    parts: list[npt.NDArray[Any]] = []
    sides = [_Side("bid", _BUY), _Side("ask", _SELL)]
    for batch in one.batches(1 << 18):
        for side in sides:
            parts += side.events(batch.quotes, latency_ns)
        parts.append(_trades(batch.trades, latency_ns))
    rows = np.concatenate(parts) if parts else np.empty(0, [("number", "<u8"), ("event", EVENT)])
    if not len(rows):
        raise ValueError(f"symbol: {symbol!r} has no quotes and no trades in this file")
    events = rows["event"][np.argsort(rows["number"], kind="stable")]
    # Both clocks must go forward.
    events["exch_ts"] = np.maximum.accumulate(events["exch_ts"])
    events["local_ts"] = np.maximum.accumulate(np.maximum(events["local_ts"], events["exch_ts"]))
    name = checked_path(path)
    with whole(name if name.endswith(".npz") else name + ".npz") as part, open(part, "wb") as file:
        np.savez_compressed(file, data=events)


def _base(rows: npt.NDArray[Any], latency_ns: int) -> npt.NDArray[Any]:
    out = np.zeros(len(rows), [("number", "<u8"), ("event", EVENT)])
    out["number"] = rows["number"]
    exchange = np.where(np.isnat(rows["ts_event"]), rows["ts_recv"], rows["ts_event"]).astype(np.int64)
    local = rows["ts_recv"].astype(np.int64)
    out["event"]["exch_ts"] = exchange
    out["event"]["local_ts"] = np.where(np.isnat(rows["ts_recv"]), exchange + latency_ns, local)
    return out


class _Side:
    """Best prices of one side as changes of price levels: the old best is removed before the new one is added."""

    def __init__(self, name: str, flag: int) -> None:
        self._name, self._flag = name, flag
        self._price = np.nan  # price of the current level

    def events(self, quotes: npt.NDArray[Any], latency_ns: int) -> list[npt.NDArray[Any]]:
        if not len(quotes):
            return []
        sizes = quotes[f"{self._name}_sz_00"]
        prices = np.where(sizes > 0, quotes[f"{self._name}_px_00"], np.nan)
        before = np.r_[self._price, prices[:-1]]
        self._price = prices[-1]
        gone = _base(quotes, latency_ns)
        gone["event"]["px"] = before
        come = _base(quotes, latency_ns)
        come["event"]["px"], come["event"]["qty"] = prices, sizes
        for rows in (gone, come):
            rows["event"]["ev"] = _DEPTH | _EXCH | _LOCAL | self._flag
        return [gone[~np.isnan(before) & (before != prices)], come[~np.isnan(prices)]]


def _trades(trades: npt.NDArray[Any], latency_ns: int) -> npt.NDArray[Any]:
    out = _base(trades, latency_ns)
    out["event"]["ev"] = _TRADE | _EXCH | _LOCAL
    out["event"]["px"], out["event"]["qty"] = trades["price"], trades["size"]
    return out
