"""JSON lines of a gateway as rows."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any

import numpy as np

from . import _core
from .batch import (
    NO_INSTRUMENT,
    PRICE_SCALE,
    UNDEF_PRICE,
    AuctionKind,
    BandKind,
    Batch,
    ClearReason,
    Flag,
    GapReason,
    ImbalanceState,
    InstrumentClass,
    OrderAction,
    ShortSale,
    Side,
    TradingState,
    dtypes,
)

NO_CHANNEL = 2**16 - 1
"""`channel` of rows whose line names none."""


def _numbers(values: type[IntEnum]) -> dict[str, int]:
    """The numbers of the words in JSON."""
    return {value.name.lower(): int(value) for value in values}


_STATES = _numbers(TradingState)
_GAPS = _numbers(GapReason)
_CLEARS = _numbers(ClearReason)
_SIDES = _numbers(Side)
_ACTIONS = _numbers(OrderAction)
_AUCTIONS = _numbers(AuctionKind)
_IMBALANCES = _numbers(ImbalanceState)
_BANDS = _numbers(BandKind)
_SHORT_SALES = _numbers(ShortSale)
_CLASSES = _numbers(InstrumentClass)
_NO_TIME = np.iinfo(np.int64).min


class BadLine(ValueError):
    """A line that does not follow the gateway's format."""


class _Nanos(int):
    """A number with a point, in 1/1,000,000,000."""


def _nanos(text: str) -> _Nanos:
    return _Nanos(_core.price_nanos(text))


class LineReader:
    """Collects lines as rows until `finish`. Instruments are numbered in order of arrival.

    A loss of the gateway itself is a batch of its own, so that a book knows which rows follow it: when `ended` is True,
    call `finish` before the next line, which returns the rows before the loss if there are some.

    symbols: only these. A gateway sends all symbols until it has read the request.
    """

    def __init__(self, prices: str, symbols: list[str] | None = None) -> None:
        self._wanted = None if symbols is None else {*symbols, None}
        self._dtypes = dtypes(prices)
        self._limits = {table: _limits_of(dtype) for table, dtype in self._dtypes.items()}
        self._is_nanos = prices == "nanos"
        self._ids: dict[str, int] = {}
        self.names: list[tuple[bytes, bytes]] = []
        self.goodbye = ""
        """Reason for which the gateway ends the connection."""
        self.error = ""
        """The gateway's answer to a request."""
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in self._dtypes}
        self._missed = 0
        self._before: Batch | None = None  # of the loss that the rows are
        self.count = 0
        self.ended = False

    def add(self, line: bytes) -> None:
        """Raises BadLine."""
        try:
            event = json.loads(line, parse_float=_nanos)
            kind = event["type"]
            add = self._kinds.get(kind)
            if add is not None and (self._wanted is None or event.get("symbol") in self._wanted):
                add(self, event)
                self.count += 1
        except BadLine:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise BadLine(f"{error!r} in {line[:200]!r}") from None

    def finish(self) -> Batch:
        batch, self._before = self._before, None
        if batch is None:
            batch = self._take()
            self.ended = False
        return batch

    def _take(self) -> Batch:
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
            return UNDEF_PRICE if self._is_nanos else float("nan")
        if not isinstance(price, int) or isinstance(price, bool):
            raise BadLine(f"price {price!r} is not a number")
        nanos = price if isinstance(price, _Nanos) else _core.price_nanos(str(price))
        return nanos if self._is_nanos else nanos / PRICE_SCALE

    def _quote(self, event: Any) -> None:
        flags = Flag.INCOMPLETE * bool(event["incomplete"])
        flags |= Flag.HALTED * bool(event.get("halted", False))
        flags |= Flag.NOT_FIRM * (not event.get("firm", True))
        flags |= Flag.LOCKED * bool(event.get("locked", False))
        flags |= Flag.CROSSED * bool(event.get("crossed", False))
        bid, ask = event["bid"], event["ask"]
        self._put(
            "quotes", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            self._price(bid["price"]), self._price(ask["price"]), _size(bid["shares"]), _size(ask["shares"]),
            self._id(event["symbol"]), NO_CHANNEL, int(flags),
        )  # fmt: skip

    def _trade(self, event: Any) -> None:
        self._put(
            "trades", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            self._price(event["price"]), _size(event["shares"]), event["trade_id"], self._id(event["symbol"]),
            NO_CHANNEL, event.get("flags", 0),
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

    def _order(self, event: Any) -> None:
        self._put(
            "orders", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            event["order_id"], self._price(event["price"]), _size(event["size"]), _size(event["size_left"]),
            event["trade_id"], self._id(event["symbol"]), event["channel"], _ACTIONS[event["action"]],
            _SIDES[event["side"]], event.get("flags", 0),
        )  # fmt: skip

    def _level(self, event: Any) -> None:
        self._put(
            "levels", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            self._price(event["price"]), _size(event["size"]), self._id(event["symbol"]), event["channel"],
            _SIDES[event["side"]], event["count"], event.get("flags", 0),
        )  # fmt: skip

    def _imbalance(self, event: Any) -> None:
        self._put(
            "imbalances", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            _size(event["paired_size"]), _size(event["imbalance_size"]), self._price(event["reference_price"]),
            self._price(event["near_price"]), self._price(event["far_price"]), self._id(event["symbol"]), NO_CHANNEL,
            _AUCTIONS[event["auction"]], _IMBALANCES[event["state"]], _SIDES[event["side"]],
        )  # fmt: skip

    def _band(self, event: Any) -> None:
        self._put(
            "bands", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            self._price(event["lower_price"]), self._price(event["upper_price"]),
            self._price(event["reference_price"]), self._id(event["symbol"]), NO_CHANNEL,
            _BANDS[event["band"]], _SHORT_SALES[event["short_sale"]], event["extension"],
        )  # fmt: skip

    def _definition(self, event: Any) -> None:
        self._put(
            "definitions", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            self._price(event["tick"]), _size(event["lot"]), self._id(event["symbol"]), NO_CHANNEL,
            _CLASSES[event["class"]], event["decimals"], event["currency"].encode(),
        )  # fmt: skip

    def _best_venues(self, event: Any) -> None:
        self._put(
            "best_venues", event["timestamp"], event["exchange_timestamp"] or _NO_TIME, event["sequence"], 0,
            event["bid_channels"], event["ask_channels"], event["incomplete_channels"], event["silent_channels"],
            event["halted_channels"], event["not_firm_channels"], self._id(event["symbol"]), event["channel"],
        )  # fmt: skip

    def _gap(self, event: Any) -> None:
        self._put(
            "gaps", event["timestamp"], event["sequence"], event["first"], event["last"], event["channel"],
            _GAPS.get(event["reason"], 0),
        )  # fmt: skip

    def _clear(self, event: Any) -> None:
        self._put(
            "clears", event["timestamp"], event["sequence"], self._id(event["symbol"]), event["channel"],
            _CLEARS.get(event["reason"], 0), event.get("flags", 0),
        )  # fmt: skip

    def _put(self, table: str, *row: Any) -> None:
        self._check(table, row)
        self._rows[table].append(row)

    def _check(self, table: str, row: tuple[Any, ...]) -> None:
        for value, limits in zip(row, self._limits[table], strict=True):
            if limits is not None and not (isinstance(value, int) and limits[0] <= value <= limits[1]):
                raise BadLine(f"{value!r} is not a number from {limits[0]} to {limits[1]}")

    def _miss(self, event: Any) -> None:
        count, first, last = event["count"], event.get("first", 0), event.get("last", 0)
        if not isinstance(count, int) or count < 0:
            raise BadLine(f"count {count!r} is not a number of events")
        if last:
            row = (_NO_TIME, first, last, 1)
            self._check("lost", row)
            if self.count:
                self._before = self._take()
            self._rows["lost"].append(row)
            self.ended = True
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
        "imbalance": _imbalance,
        "band": _band,
        "instrument": _definition,
        "best_venues": _best_venues,
        "gap": _gap,
        "clear": _clear,
        "order": _order,
        "level": _level,
        "missed": _miss,
        "bye": _bye,
        "error": _said,
    }


def _size(value: Any) -> int:
    """Limits a size to the largest int64, as tables do."""
    if not isinstance(value, int) or not 0 <= value < 2**64:
        raise BadLine(f"{value!r} is not a size")
    return min(value, 2**63 - 1)


def _limits_of(dtype: np.dtype[Any]) -> list[tuple[int, int] | None]:
    """Returns the smallest and largest value of each column; None for columns that are neither integers nor times."""
    forms = [np.dtype(np.int64) if dtype[name].kind == "M" else dtype[name] for name in dtype.names or ()]
    return [(int(np.iinfo(form).min), int(np.iinfo(form).max)) if form.kind in "iu" else None for form in forms]


def _array(rows: list[tuple[Any, ...]], dtype: np.dtype[Any]) -> Any:
    return np.array(rows, dtype=dtype) if rows else np.empty(0, dtype)
