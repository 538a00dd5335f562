"""Batches of rows: structured numpy arrays that own their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core

Rows = npt.NDArray[Any]
"""A structured array: one of the dtypes of `dtypes`."""

UNDEF_PRICE = 2**63 - 1
"""An integer price that does not exist, such as that of a side without a quote. A float price is NaN then."""
NO_INSTRUMENT = 2**32 - 1
"""`instrument_id` of a row that concerns every instrument of its channel."""
PRICE_SCALE = 10_000
"""Integer prices are in 1/10000 of the currency's unit."""


class Flag(IntFlag):
    """Bits of `flags`."""

    INCOMPLETE = 1
    """A better price may exist: something of the channel was lost before."""
    HALTED = 2
    """The instrument does not trade at the moment."""
    NOT_FIRM = 4
    """The venue does not guarantee a trade at these prices."""
    LAST = 128
    """Of `orders`: the last row of its message."""


class TradingState(IntEnum):
    """Values of `statuses["state"]`."""

    UNKNOWN = 0
    TRADING = 1
    HALTED = 2
    PAUSED = 3
    QUOTATION_ONLY = 4
    OPERATIONAL_HALT = 5
    START_OF_MESSAGES = 10
    START_OF_SYSTEM_HOURS = 11
    START_OF_MARKET_HOURS = 12
    END_OF_MARKET_HOURS = 13
    END_OF_SYSTEM_HOURS = 14
    END_OF_MESSAGES = 15
    CIRCUIT_BREAKER = 20


class GapReason(IntEnum):
    """Values of `gaps["reason"]`."""

    SEQUENCE = 0
    REJECTED = 1
    DROPPED = 2
    SILENCE = 3


class ClearReason(IntEnum):
    """Values of `clears["reason"]`."""

    NEW_SESSION = 1
    END_OF_SESSION = 2
    SENDER_REQUEST = 3


class LostReason(IntEnum):
    """Values of `lost["reason"]`."""

    LAPPED = 1
    REMOVED = 2
    DAMAGED = 3


def dtypes(prices: str = "float64") -> dict[str, np.dtype[Any]]:
    """The dtype of each table. prices: "float64" in whole units, or "int64" in 1/10000."""
    return dict(_DTYPES[is_mantissa(prices)])


def is_mantissa(prices: str) -> bool:
    if prices not in ("float64", "int64"):
        raise ValueError(f'prices: found {prices!r}, must be "float64" or "int64"')
    return prices == "int64"


def _describe(mantissa: bool) -> dict[str, np.dtype[Any]]:
    return {name: np.dtype(described) for name, described in _core.describe_tables(mantissa)}


_DTYPES = {False: _describe(False), True: _describe(True)}
_TABLES = tuple(_DTYPES[False])


def _empty(table: str) -> Rows:
    return np.empty(0, _DTYPES[False][table])


@dataclass(slots=True)
class Batch:
    """Rows that arrived together. Each table is in order of arrival; `number` gives the order across tables."""

    quotes: Rows = field(default_factory=lambda: _empty("quotes"))
    trades: Rows = field(default_factory=lambda: _empty("trades"))
    breaks: Rows = field(default_factory=lambda: _empty("breaks"))
    """Trades that the venue has declared void."""
    statuses: Rows = field(default_factory=lambda: _empty("statuses"))
    gaps: Rows = field(default_factory=lambda: _empty("gaps"))
    """Losses of the feed: quotes of the channel are incomplete until newer ones replace them."""
    clears: Rows = field(default_factory=lambda: _empty("clears"))
    """Instruments or channels whose quotes were voided."""
    lost: Rows = field(default_factory=lambda: _empty("lost"))
    """Ranges of numbers that this reader missed."""
    missed: int = 0
    """Events that this reader missed, exactly."""
    writer: str = "alive"
    """alive, silent (no heartbeat lately), dead (its process is gone), superseded or closed."""

    @property
    def writer_alive(self) -> bool:
        """Whether new rows can be expected. If not, the last rows may be stale."""
        return self.writer == "alive"

    def __len__(self) -> int:
        return sum(len(getattr(self, table)) for table in _TABLES)


def batch_of(arrays: Sequence[npt.NDArray[np.uint8]], mantissa: bool, missed: int = 0, writer: str = "alive") -> Batch:
    """A batch that views the bytes of the extension."""
    dtypes = _DTYPES[mantissa]
    tables = {table: rows_of(array, dtypes[table]) for table, array in zip(_TABLES, arrays, strict=True)}
    return Batch(**tables, missed=missed, writer=writer)


def rows_of(array: npt.NDArray[np.uint8], dtype: np.dtype[Any]) -> Rows:
    return array.view(dtype) if len(array) else np.empty(0, dtype)
