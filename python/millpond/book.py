"""Order books, made of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import FULL_DEPTH, checked_depth, checked_int
from .batch import NO_INSTRUMENT, Batch, Rows, dtypes, is_nanos, rows_of
from .times import Time, time_ns

_MAX = 2**28


class Book:
    """The order book of one instrument, made of the rows of batches. It is exact, or `complete` is False.

    instrument_id: number of the instrument in the rows. None: that of the first row; rows of another one then raise
        ValueError, so read with `symbols=`.
    depth: levels of a side that the feed sends, as an int or "full", or that `bids` and `asks` show of orders.
    levels: capacity of a side: `depth`, and what a group of rows may add before it removes.
    orders: capacity for live orders. If it is not 0, the book is made of `orders`, and `levels` are not read.
    prices: "float64" in whole units, or "nanos": integers in 1/1,000,000,000. It must be that of the batches. In
        float64, prices beyond 2,000,000 raise ValueError.

    A book is incomplete until a clear of its session or a snapshot, and again after each loss, each row marked
    incomplete and each contradiction, until the next clear or snapshot. `lost` rows of a batch have no place among its
    other rows: the book is incomplete until a snapshot in a later batch. `missed` without such rows is no loss: the
    gateway sends the books that it affects again. A clear of a whole channel completes the book only if earlier rows
    have named the instrument's channel.

    One thread at a time. Memory is 64 bytes for each of `levels` of a side and 48 bytes for each of `orders`.
    """

    def __init__(
        self,
        instrument_id: int | None = None,
        *,
        depth: int | Literal["full"] = 10,
        levels: int = 64,
        orders: int = 0,
        prices: str = "float64",
    ) -> None:
        if instrument_id is not None:
            instrument_id = checked_int("instrument_id", instrument_id, 0, NO_INSTRUMENT - 1)
        shown = checked_depth(depth, 1, _MAX)
        self._nanos = is_nanos(prices)
        self._core = _core.Book(
            instrument_id,
            depth=shown,
            levels=checked_int("levels", levels, 1 if shown == FULL_DEPTH else shown, _MAX),
            orders=checked_int("orders", orders, 0, _MAX),
            nanos=self._nanos,
        )
        price = ("price_nanos", "<i8") if self._nanos else ("price", "<f8")
        self._level = _dtype([price, ("size", "<i8"), ("count", "<u4")], 24)
        self._order = _dtype([("order_id", "<u8"), price, ("size", "<i8")], 24)

    def __reduce__(self) -> Any:
        raise TypeError("a Book cannot be pickled; make it of the rows in the process that needs it")

    @property
    def complete(self) -> bool:
        """True if no group of rows is open and nothing is missing."""
        return self._core.complete

    @property
    def instrument_id(self) -> int | None:
        """None until the first row, unless given."""
        return self._core.instrument

    @property
    def live_orders(self) -> int:
        return self._core.live_orders

    @property
    def faults(self) -> dict[str, int]:
        """Counts the causes that made the book incomplete.

        marked: rows marked incomplete. gaps: of the channel. missed: losses of the reader, each counted at least once.
        refused_levels, refused_orders: did not fit. unknown_orders: changes of orders that are not in the book.
        wrong_orders: orders added twice, without a side or size, or with another size left. crossed: groups after which
        a bid was not below all asks, which leave the book complete.
        """
        return self._core.faults()

    def bids(self) -> Rows:
        """The bids, the best one first, at most `depth`: `price` or `price_nanos`, `size`, and `count` of orders, 0 if
        the feed does not say.
        """
        return rows_of(self._core.levels(True), self._level)

    def asks(self) -> Rows:
        """The asks, the best one first, with the columns of `bids`."""
        return rows_of(self._core.levels(False), self._level)

    def bid_orders(self) -> Rows:
        """The orders of `bids`, those of the best level first, by priority: `order_id`, `price` or `price_nanos`, and
        `size`.
        """
        return rows_of(self._core.orders(True), self._order)

    def ask_orders(self) -> Rows:
        """The orders of `asks`, with the columns of `bid_orders`."""
        return rows_of(self._core.orders(False), self._order)

    def apply(self, batch: Batch) -> None:
        """Applies the rows of the book's instrument and of its channel, in the order of `number`.

        Raises ValueError for rows of other instruments or with other prices.
        """
        tables = self._begin(batch)
        self._core.apply(tables, [0] * len(tables), None)
        self._end(batch)

    def replay(self, batches: Iterable[Batch], times: Iterable[Time]) -> Iterator[np.datetime64]:
        """Applies batches and yields each of the ascending times, with the book as it was before that time: by receive
        time, or exchange time if there is none. Times after the last row come at the end.

        Batches are read one after the other, and the rest of a batch is not applied if the iteration ends early.
        """
        stops = _stops(times)
        stop = next(stops, None)
        for batch in batches:
            if stop is None:
                return
            tables = self._begin(batch)
            ends = [len(rows) for rows in batch.tables()]
            positions = self._core.apply(tables, [0] * len(tables), stop)
            while positions != ends:
                self._end(batch)
                yield np.datetime64(stop, "ns")
                stop = next(stops, None)
                if stop is None:
                    return
                positions = self._core.apply(tables, positions, stop)
            self._end(batch)
        while stop is not None:
            yield np.datetime64(stop, "ns")
            stop = next(stops, None)

    def _begin(self, batch: Batch) -> list[npt.NDArray[np.uint8]]:
        self._note_losses(batch)
        expected = dtypes("nanos" if self._nanos else "float64").values()
        return [_bytes_of(rows, dtype) for rows, dtype in zip(batch.tables(), expected, strict=True)]

    def _end(self, batch: Batch) -> None:
        self._note_losses(batch)

    def _note_losses(self, batch: Batch) -> None:
        if len(batch.lost):
            self._core.miss()


def _stops(times: Iterable[Time]) -> Iterator[int]:
    before: int | None = None
    for time in times:
        stop = time_ns("times", time)
        if before is not None and stop < before:
            raise ValueError(f"times: found {time!r} after a later one")
        before = stop
        yield stop


def _bytes_of(rows: Rows, dtype: np.dtype[Any]) -> npt.NDArray[np.uint8]:
    if len(rows) == 0:
        return np.empty(0, np.uint8)
    for column in dtype.names or ():
        if column not in (rows.dtype.names or ()):
            raise ValueError(f"the batch has no column {column!r}; prices= must be that of its reader")
    return np.ascontiguousarray(rows, dtype).view(np.uint8)  # numpy.concatenate removes the padding of rows


def _dtype(columns: list[tuple[str, str]], itemsize: int) -> np.dtype[Any]:
    names, formats = zip(*columns, strict=True)
    offsets = [8 * index for index in range(len(columns))]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize})
