"""JSON lines of a gateway as rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .batch import NO_INSTRUMENT, UNDEF_PRICE, Batch, ClearReason, Flag, GapReason, TradingState, dtypes

NO_CHANNEL = 2**16 - 1
"""`channel` of rows whose line names none."""

_STATES = {state.name.lower(): int(state) for state in TradingState}
_GAPS = {reason.name.lower(): int(reason) for reason in GapReason}
_CLEARS = {reason.name.lower(): int(reason) for reason in ClearReason}
_NO_TIME = np.iinfo(np.int64).min


class BadLine(ValueError):
    """A line that does not follow the gateway's format."""


def _mantissa(text: str) -> int:
    whole, _, fraction = text.partition(".")
    if len(fraction) > 4 or not fraction.isdigit():
        raise BadLine(f"price {text!r} does not have the form 1.2345")
    return int(whole + fraction.ljust(4, "0"))


class LineReader:
    """Collects lines as rows until `take`. Instruments are numbered in order of arrival.

    symbols: only these. A gateway sends all symbols until it has read the request.
    """

    def __init__(self, prices: str, symbols: list[str] | None = None) -> None:
        self._wanted = None if symbols is None else {*symbols, None}
        self._dtypes = dtypes(prices)
        self._limits = {table: _limits_of(dtype) for table, dtype in self._dtypes.items()}
        self._scale = None if prices == "int64" else 10_000
        self._ids: dict[str, int] = {}
        self.names: list[tuple[bytes, bytes]] = []
        self.goodbye = ""
        """Why the gateway ends the connection."""
        self.error = ""
        """What the gateway said about a request."""
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in self._dtypes}
        self._missed = 0
        self.count = 0

    def add(self, line: bytes) -> None:
        """Raises BadLine."""
        try:
            event = json.loads(line, parse_float=_mantissa)
            kind = event["type"]
            add = self._kinds.get(kind)
            if add is not None and (self._wanted is None or event.get("symbol") in self._wanted):
                add(self, event)
                self.count += 1
        except BadLine:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise BadLine(f"{error!r} in {line[:200]!r}") from None

    def take(self) -> Batch:
        batch = Batch(
            **{table: _array(rows, self._dtypes[table]) for table, rows in self._rows.items()}, missed=self._missed
        )
        self._rows = {table: [] for table in self._dtypes}
        self._missed = self.count = 0
        return batch

    def _id(self, symbol: str | None) -> int:
        if symbol is None:
            return NO_INSTRUMENT
        found = self._ids.get(symbol)
        if found is None:
            name = symbol.encode()  # raises before anything has changed
            found = self._ids[symbol] = len(self.names)
            self.names.append((b"", name))
        return found

    def _price(self, price: Any) -> float | int:
        if price is None:
            return UNDEF_PRICE if self._scale is None else float("nan")
        if not isinstance(price, int):
            raise BadLine(f"price {price!r} is not a number")
        return price if self._scale is None else price / self._scale

    def _quote(self, event: Any) -> None:
        flags = Flag.INCOMPLETE * bool(event["incomplete"])
        flags |= Flag.HALTED * bool(event.get("halted", False))
        flags |= Flag.NOT_FIRM * (not event.get("firm", True))
        bid, ask = event["bid"], event["ask"]
        self._put(
            "quotes", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            self._price(bid["price"]), self._price(ask["price"]), bid["shares"], ask["shares"],
            self._id(event["symbol"]), NO_CHANNEL, int(flags),
        )  # fmt: skip

    def _trade(self, event: Any) -> None:
        self._put(
            "trades", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            self._price(event["price"]), event["shares"], event["trade_id"], self._id(event["symbol"]), NO_CHANNEL, 0,
        )  # fmt: skip

    def _break(self, event: Any) -> None:
        self._put(
            "breaks", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            event["trade_id"], self._id(event["symbol"]), NO_CHANNEL,
        )  # fmt: skip

    def _status(self, event: Any) -> None:
        self._put(
            "statuses", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            self._id(event["symbol"]), event["channel"], _STATES.get(event["state"], 0), event["reason"].encode(),
        )  # fmt: skip

    def _gap(self, event: Any) -> None:
        self._put(
            "gaps", event["timestamp"], event["sequence"], event["first"], event["last"], event["channel"],
            _GAPS.get(event["reason"], 0),
        )  # fmt: skip

    def _clear(self, event: Any) -> None:
        self._put(
            "clears", event["timestamp"], event["sequence"], self._id(event["symbol"]), event["channel"],
            _CLEARS.get(event["reason"], 0),
        )  # fmt: skip

    def _put(self, table: str, *row: Any) -> None:
        for value, limits in zip(row, self._limits[table], strict=True):
            if limits is not None and not (isinstance(value, int) and limits[0] <= value <= limits[1]):
                raise BadLine(f"{value!r} is not a number from {limits[0]} to {limits[1]}")
        self._rows[table].append(row)

    def _miss(self, event: Any) -> None:
        count, first, last = event["count"], event.get("first", 0), event.get("last", 0)
        if not isinstance(count, int) or count < 0:
            raise BadLine(f"count {count!r} is not a number of events")
        if last:
            self._put("lost", _NO_TIME, first, last, 1)
        self._missed += count

    def _bye(self, event: Any) -> None:
        self.goodbye = str(event["text"])

    def _said(self, event: Any) -> None:
        self.error = str(event["text"])

    _kinds = {
        "quote": _quote,
        "trade": _trade,
        "trade_break": _break,
        "status": _status,
        "gap": _gap,
        "clear": _clear,
        "missed": _miss,
        "bye": _bye,
        "error": _said,
    }


def _limits_of(dtype: np.dtype[Any]) -> list[tuple[int, int] | None]:
    """Of each column the least and the largest number; None: not a whole number, nor a time."""
    forms = [np.dtype(np.int64) if dtype[name].kind == "M" else dtype[name] for name in dtype.names or ()]
    return [(int(np.iinfo(form).min), int(np.iinfo(form).max)) if form.kind in "iu" else None for form in forms]


def _array(rows: list[tuple[Any, ...]], dtype: np.dtype[Any]) -> Any:
    return np.array(rows, dtype=dtype) if rows else np.empty(0, dtype)
