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
PRICE_SCALE = 1_000_000_000
"""Prices of `*_nanos` columns are in 1/1,000,000,000 of the currency's unit."""


class Flag(IntFlag):
    """Bits of `flags`."""

    INCOMPLETE = 1
    """A better price may exist: something of the channel was lost before."""
    HALTED = 2
    """The instrument does not trade at the moment."""
    NOT_FIRM = 4
    """The venue does not guarantee a trade at these prices."""
    HIDDEN = 8
    """A trade of an order that was not displayed."""
    CROSS = 16
    """A trade of an auction."""
    SNAPSHOT = 32
    """The row is part of a snapshot of the whole book."""
    NOT_PRINTABLE = 64
    """A trade that the volume includes as part of another one."""
    LAST = 128
    """The row is the last one of its group, after which books are consistent. Only with orders or levels."""
    PRIORITY_LOST = 256
    """The change moved the order behind all others at its price."""
    LOCKED = 512
    """A composite's best bid is its best offer."""
    CROSSED = 1024
    """A composite's best bid is above its best offer."""


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
    VENUE = 4
    """Of a composite: quotes of one of its channels are incomplete or void."""


class ClearReason(IntEnum):
    """Values of `clears["reason"]`."""

    NEW_SESSION = 1
    END_OF_SESSION = 2
    SENDER_REQUEST = 3


class Side(IntEnum):
    """Values of `side` in `orders`, `levels` and `imbalances`."""

    NONE = 0
    BID = 1
    ASK = 2


class OrderAction(IntEnum):
    """Values of `orders["action"]`."""

    ADD = 1
    MODIFY = 2
    CANCEL = 3
    EXECUTE = 4
    REMOVE = 5
    CLEAR = 6


class AuctionKind(IntEnum):
    """Values of `imbalances["auction_type"]`."""

    OPENING = 1
    CLOSING = 2
    RESUMPTION = 3
    """After a halt or pause, and the first one of a new issue."""
    EXTENDED = 4


class ImbalanceState(IntEnum):
    """Values of `imbalances["state"]`."""

    INDICATIVE = 1
    INSUFFICIENT = 2
    """Too few orders for an indication: the sizes are no information."""
    PAUSED = 3


class BandKind(IntEnum):
    """Values of `bands["band"]`."""

    COLLAR = 1
    SHORT_SALE = 2


class ShortSale(IntEnum):
    """Values of `bands["short_sale"]`."""

    ALLOWED = 0
    RESTRICTED_NOW = 1
    RESTRICTED_EARLIER = 2


class InstrumentClass(IntEnum):
    """Values of `definitions["instrument_class"]`."""

    UNKNOWN = 0
    STOCK = 1
    FUND = 2
    BOND = 3
    RIGHT = 4
    WARRANT = 5
    UNIT = 6


class LostReason(IntEnum):
    """Values of `lost["reason"]`."""

    LAPPED = 1
    REMOVED = 2
    DAMAGED = 3


def dtypes(prices: str = "float64") -> dict[str, np.dtype[Any]]:
    """The dtype of each table. prices: "float64" in whole units, or "nanos": integers in 1/1,000,000,000, in columns whose
    names end with `_nanos`.
    """
    return dict(_DTYPES[is_nanos(prices)])


def is_nanos(prices: str) -> bool:
    if prices == "int64":
        raise ValueError('prices: "int64" was 1/10000; use "nanos", whose columns are in 1/1,000,000,000')
    if prices not in ("float64", "nanos"):
        raise ValueError(f'prices: found {prices!r}, must be "float64" or "nanos"')
    return prices == "nanos"


def _describe(nanos: bool) -> dict[str, np.dtype[Any]]:
    return {name: np.dtype(described) for name, described in _core.describe_tables(nanos)}


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
    orders: Rows = field(default_factory=lambda: _empty("orders"))
    """Changes of orders of the book, from feeds that publish them."""
    levels: Rows = field(default_factory=lambda: _empty("levels"))
    """Totals of price levels of the book, from feeds that publish them."""
    imbalances: Rows = field(default_factory=lambda: _empty("imbalances"))
    """What auctions would trade, and what they would leave over."""
    bands: Rows = field(default_factory=lambda: _empty("bands"))
    """Price collars of auctions, and short sale restrictions."""
    definitions: Rows = field(default_factory=lambda: _empty("definitions"))
    """Directory entries of instruments."""
    best_venues: Rows = field(default_factory=lambda: _empty("best_venues"))
    """Channels that make the next quotes of composites, and those that are left out, as bits."""
    lost: Rows = field(default_factory=lambda: _empty("lost"))
    """Ranges of numbers that this reader missed."""
    missed: int = 0
    """Events that this reader missed, exactly."""
    writer: str = "alive"
    """alive, silent (no heartbeat lately), dead (its process is gone), superseded or closed."""

    @property
    def writer_alive(self) -> bool:
        """True if new rows can be expected. Otherwise the last rows may be stale."""
        return self.writer == "alive"

    def __len__(self) -> int:
        return sum(map(len, self.tables()))

    def tables(self) -> list[Rows]:
        """All tables, in the order of the fields."""
        return [getattr(self, table) for table in _TABLES]


def batch_of(arrays: Sequence[npt.NDArray[np.uint8]], nanos: bool, missed: int = 0, writer: str = "alive") -> Batch:
    """Makes a batch of arrays that view the bytes of the extension."""
    dtypes = _DTYPES[nanos]
    tables = {table: rows_of(array, dtypes[table]) for table, array in zip(_TABLES, arrays, strict=True)}
    return Batch(**tables, missed=missed, writer=writer)


def rows_of(array: npt.NDArray[np.uint8], dtype: np.dtype[Any]) -> Rows:
    return array.view(dtype) if len(array) else np.empty(0, dtype)
