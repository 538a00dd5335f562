"""Live market data from a ring in shared memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypedDict, cast

import numpy as np

from . import _core
from .arguments import checked_rows, checked_symbols, checked_text, nanos
from .batch import Batch, Rows, batch_of, dtypes, is_nanos, rows_of
from .batches import Batches, Reads
from .errors import RingClosed, RingError, RingRestarted, RingSuperseded
from .names import Names, NameTable, note_origin

class Account(TypedDict):
    """Entries since the reader joined, by outcome: published = delivered + filtered + missed + queued."""

    since: int
    published: int
    delivered: int
    filtered: int
    missed: int
    queued: int
    from_board: int


class Ring:
    """A reader of the ring `name` of a gateway on this machine.

    symbols: only these instruments; others never reach Python. Events of a whole channel are always included.
    prices: "float64" in whole units, or "nanos": integers in 1/1,000,000,000, in columns with the ending `_nanos`.
    silent_after: seconds without a heartbeat after which the writer counts as silent.
    visible_as: name under which `millpond top` lists this reader; not listed if empty.
    own: refuse a ring of another user, except root.

    One thread at a time; open one for each thread. Raises RingError if there is no such ring.
    """

    def __init__(
        self,
        name: str,
        *,
        symbols: Iterable[str] | None = None,
        prices: str = "float64",
        silent_after: float = 1.0,
        visible_as: str = "",
        own: bool = False,
    ) -> None:
        self.name = name
        self._nanos = is_nanos(prices)
        try:
            self._ring = _core.Ring(
                checked_text("name", name),
                symbols=checked_symbols(symbols),
                nanos=self._nanos,
                silent_after_ns=nanos("silent_after", silent_after),
                visible_as=checked_text("visible_as", visible_as),
                own=bool(own),
            )
        except _core.RingOpenError as error:
            raise RingError(*error.args) from None
        self._names = NameTable(self._ring.names, (f"ring {name!r} of epoch {self._ring.epoch}",))
        self._opened_by = os.getpid()
        self._visible = bool(visible_as)
        self._restarted = False
        self._reads = Reads()

    def __reduce__(self) -> Any:
        raise TypeError("a Ring cannot be pickled; open it in the process that reads it")

    def __repr__(self) -> str:
        return f"Ring({self.name!r})"

    @property
    def symbols(self) -> Names:
        """Symbol of each instrument, by `instrument_id`. Empty if not named yet."""
        return self._names.symbols()

    @property
    def venues(self) -> Names:
        """Venue of each instrument, by `instrument_id`."""
        return self._names.venues()

    def symbols_of(self, rows: Rows) -> Names:
        """The symbol of each row."""
        return self._names.of(rows)

    @property
    def account(self) -> Account:
        """published = delivered + filtered + missed + queued. Events of symbols not requested are filtered."""
        self._reads.settle()
        return cast(Account, self._ring.account())

    @property
    def writer_pid(self) -> int:
        return self._ring.writer_pid

    @property
    def has_writer(self) -> bool:
        """False as soon as no process holds the ring as its writer."""
        return self._ring.has_writer

    @property
    def capacity(self) -> int:
        """Number of entries in the ring: a reader that falls further behind misses some."""
        return self._ring.capacity

    def board(self) -> Rows:
        """The newest quote and trading state of each instrument.

        Columns are those of `quotes`, and `venue`, `symbol` and `state`. An instrument without a quote has no prices
        and sizes of 0. If called before the first batch, batches start where the board ends, without a loss or
        repetition. Later calls only read the board.
        """
        self._check_process()
        self._reads.settle()
        quote_bytes, status_bytes = self._ring.board()
        tables = dtypes("nanos" if self._nanos else "float64")
        quotes = rows_of(quote_bytes, tables["quotes"])
        statuses = rows_of(status_bytes, tables["statuses"])
        symbols, venues = self._names.symbols(), self._names.venues()
        ids = quotes["instrument_id"]
        plain = np.dtype([(name, tables["quotes"][name]) for name in tables["quotes"].names or ()])
        board = np.empty(
            len(quotes), [("venue", venues.dtype), ("symbol", symbols.dtype), ("state", "<u2"), *plain.descr]
        )
        for column in plain.names or ():
            board[column] = quotes[column]
        board["venue"], board["symbol"] = venues[ids], symbols[ids]
        board["state"] = statuses["state"]
        return board

    def batches(self, max_rows: int = 65536, timeout: float | None = 0.1) -> Batches:
        """Batches of the events that are ready, at most max_rows each.

        Waits up to `timeout` seconds for the first event (None: without limit); then the batch is empty. It is
        also empty at once if the writer's process is dead: `writer` is then "dead", and a later batch waits again.
        After the remaining rows it raises RingClosed, RingSuperseded or RingRestarted.
        """
        rows = checked_rows(max_rows)
        if timeout is not None:
            nanos("timeout", timeout)
        return Batches(self._reads, lambda seconds: self._read(rows, seconds), timeout)

    def __iter__(self) -> Batches:
        return self.batches()

    def __aiter__(self) -> Batches:
        return self.batches()

    def _read(self, max_rows: int, timeout: float | None) -> Batch:
        self._check_process()
        timeout_ns = None if timeout is None else nanos("timeout", timeout)
        if self._restarted:
            self._restarted = False
            raise RingRestarted(f"ring {self.name!r}: a new writer continued it", "restarted")
        arrays, missed, writer, ended, restarted = self._ring.poll(max_rows, timeout_ns)
        batch = batch_of(arrays, self._nanos, missed, writer)
        note_origin(self._names.origin, *filter(len, batch.tables()))
        self._restarted = restarted
        if ended and len(batch) == 0 and not restarted:
            if writer == "closed":
                raise RingClosed(f"ring {self.name!r}: its writer closed it", "closed")
            raise RingSuperseded(f"ring {self.name!r}: another ring took its name", "superseded")
        return batch

    def _check_process(self) -> None:
        if self._visible and os.getpid() != self._opened_by:
            raise RingError(f"ring {self.name!r}: opened by the parent process; open it in this one", "forked")
