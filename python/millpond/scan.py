"""Files as tables: journals, ITCH files and captures."""

# pyarrow has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import datetime
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import checked_depth, checked_path, checked_rows, checked_symbols, checked_text
from .batch import Batch, Rows, batch_of, dtypes, is_nanos
from .day import checked_date, date_at, date_of, midnight_ns
from .errors import DamagedFile, MillpondWarning
from .interrupt import interruptible
from .itch import ItchTable, Messages
from .names import Names, NameTable, Origin, note_origin, origin_of
from .newest import Newest
from .progress import Progress
from .tables import TABLES, mask_of
from .times import Time, time_ns

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_ALL = mask_of(*TABLES)
_MAX_DEPTH = 50
_CAPTURES = ("itch", "quotes", "bbo28", "miax-tom", "iex-tops", "iex-deep", "iex-deep-plus")
_TIMESTAMPS = ("auto", "capture", "metamako", "nexus3550", "keyframes", "arista7280")
_KINDS = {"capture": "a capture (pcap)", "itch": "a file of ITCH messages", "journal": "a segment of a journal"}
NO_DATE = "its name has no date, so times count from 1970-01-01"
_Read = TypeVar("_Read")


class _Common(TypedDict):
    kind: str
    path: str
    only: str
    timestamps: str
    symbols: list[str] | None
    nanos: bool
    start: int | None
    end: int | None
    midnight_utc_ns: int | None
    bytes: int


@dataclass(slots=True)
class Report:
    """Results of a scan, up to the current position."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    """The decoder's counters, and the file's frames, records or messages."""
    errors: list[str] = field(default_factory=list[str])
    """The first 100 errors: damaged data and messages that could not be applied, with file, place, value and bound."""
    error_count: int = 0
    outside: int = 0
    """Events before `start` or from `end` on."""
    date: datetime.date | None = None
    """The exchange's day. None: times without a date count from 1970-01-01."""
    complete: bool = False
    """True if the file was read to its end."""

    @property
    def refused(self) -> int:
        """Messages that changed no quote: `messages_refused` (the name of the instrument is not printable ASCII or was
        not given, or a table is full) and `messages_rejected` (contents that the format does not allow).
        """
        return sum(self.counts.get(name, 0) for name in ("messages_refused", "messages_rejected"))

    @property
    def ok(self) -> bool:
        """True if nothing was damaged, lost or refused."""
        return self.error_count == 0 and self.counts.get("lost", 0) == 0 and self.refused == 0


class Table:
    """One table of a scan. It is read lazily, and each use reads the file again."""

    def __init__(self, scan: Scan, name: str) -> None:
        self._scan = scan
        self.name = name

    def __repr__(self) -> str:
        return f"{self._scan!r}.{self.name}"

    @property
    def dtype(self) -> np.dtype[Any]:
        return dtypes(self._scan.prices)[self.name]

    def batches(self, max_rows: int = 65536) -> Iterator[Rows]:
        """The rows in structured arrays of about max_rows."""
        for batch in self._scan._read(max_rows, mask_of(self.name)):
            rows: Rows = getattr(batch, self.name)
            if len(rows):
                yield rows

    def to_numpy(self) -> Rows:
        """All rows as one structured array."""
        parts = list(self.batches(1 << 20))
        return self._scan._joined(parts) if parts else np.empty(0, self.dtype)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow record batches, which polars, pyarrow and duckdb can read."""
        return self._scan._arrow(self.name, 1 << 17)

    def to_arrow(self) -> pyarrow.Table:
        import pyarrow

        with interruptible(), self._scan._following():
            table = pyarrow.RecordBatchReader.from_stream(self).read_all()  # pyarrow.table imports pandas
        self._scan._warn()
        return table

    def to_polars(self) -> polars.DataFrame:
        import polars

        with interruptible(), self._scan._following():
            frame = polars.DataFrame(self)
        self._scan._warn()
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_parquet(self, path: str | os.PathLike[str], *, partition_by: str | Iterable[str] | None = None) -> None:
        """Writes the rows to a Parquet file, or with `partition_by` columns to a folder, in bounded memory."""
        from .parquet import write, write_tables

        with self._scan._following():
            if partition_by is not None and partition_by != "":
                write(self, checked_path(path), partition_by)
            else:
                write_tables(self._scan, {self.name: checked_path(path)})
        self._scan._warn()


class Scan:
    """A file that is read lazily, in bounded memory. `scan` creates one.

    Several threads may use it: each use reads the file separately.

    Tables: quotes, trades, breaks (trades that the venue cancelled), statuses, gaps, clears, and lost (losses of a
    journal). The methods of Table, called on the scan, use the quotes.
    """

    def __init__(
        self,
        path: str,
        kind: str,
        form: str,
        *,
        symbols: list[str] | None,
        start: int | None,
        end: int | None,
        prices: str,
        date: datetime.date | None,
        midnight: int | None,
        only: str,
        timestamps: str,
        progress: bool | None,
        depth: int = 0,
        orders: bool = False,
    ) -> None:
        self.path = path
        self.prices = prices
        self._kind, self._form = kind, form
        self._symbols, self._start, self._end = symbols, start, end
        self._date, self._midnight, self._only, self._progress = date, midnight, only, progress
        self._timestamps = timestamps
        self._depth, self._with_orders = depth, orders
        self._nanos = is_nanos(prices)
        self._readings = _Readings()

    def __repr__(self) -> str:
        return f"scan({self.path!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Copies, also in other processes, read the file from its begin."""
        return {**vars(self), "_readings": _Readings()}

    @property
    def quotes(self) -> Table:
        return Table(self, "quotes")

    @property
    def trades(self) -> Table:
        return Table(self, "trades")

    @property
    def breaks(self) -> Table:
        """Trades that the venue cancelled."""
        return Table(self, "breaks")

    @property
    def statuses(self) -> Table:
        return Table(self, "statuses")

    @property
    def gaps(self) -> Table:
        """Losses of the feed: quotes of the channel are incomplete until newer ones replace them."""
        return Table(self, "gaps")

    @property
    def clears(self) -> Table:
        """Instruments or channels whose quotes were voided."""
        return Table(self, "clears")

    @property
    def levels(self) -> Table:
        """Totals of price levels of the book, in ITCH with `depth`, or in a journal of a feed that publishes them."""
        return Table(self, "levels")

    @property
    def imbalances(self) -> Table:
        """What auctions would trade, and what they would leave over."""
        return Table(self, "imbalances")

    @property
    def bands(self) -> Table:
        """Price collars of auctions, and short sale restrictions."""
        return Table(self, "bands")

    @property
    def definitions(self) -> Table:
        """Directory entries of instruments."""
        return Table(self, "definitions")

    @property
    def best_venues(self) -> Table:
        """Channels that make the next quotes of composites, and those that are left out, of a journal."""
        return Table(self, "best_venues")

    @property
    def lost(self) -> Table:
        """Losses of a journal."""
        return Table(self, "lost")

    @property
    def messages(self) -> Messages:
        """Messages of an ITCH file: `messages["A"]` is a table of the messages of type A with all their fields."""
        return Messages(self)

    @property
    def orders(self) -> ItchTable:
        """Every order event of an ITCH file, as in Databento's market by order.

        action: A add, C cancel, T trade, F fill, R clear of every order. side: B or A; for a trade the side of the
        aggressor; N if unknown. Flag.LAST marks the last row of a message.
        """
        return ItchTable(self, "")

    def batches(self, max_rows: int = 65536) -> Iterator[Batch]:
        """All tables, in batches of about max_rows rows together."""
        return self._read(max_rows, _ALL)

    def to_numpy(self) -> Rows:
        return self.quotes.to_numpy()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.quotes.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        return self.quotes.to_arrow()

    def to_polars(self) -> polars.DataFrame:
        return self.quotes.to_polars()

    def to_pandas(self) -> pandas.DataFrame:
        return self.quotes.to_pandas()

    def to_parquet(self, path: str | os.PathLike[str], *, partition_by: str | Iterable[str] | None = None) -> None:
        self.quotes.to_parquet(path, partition_by=partition_by)

    def bars(self, interval: str) -> npt.NDArray[Any]:
        """Bars of the trades, without cancelled ones: see `bars.bars`. interval: such as "1s", "5m" or "250ms"."""
        from .bars import bars

        return bars(self, interval)

    def to_hftbacktest(self, path: str | os.PathLike[str], symbol: str, *, latency_ns: int = 0) -> None:
        """Writes an instrument's best prices and trades as an .npz of the package hftbacktest.

        latency_ns: from exchange to receive time, for files without receive times.
        """
        from .hftbacktest import write

        write(self, path, symbol, latency_ns)

    def to_dbn(self, path: str | os.PathLike[str], *, table: str = "quotes", dataset: str = "") -> None:
        """Writes quotes as mbp-1 records, trades, or orders as mbo records, in Databento's format, uncompressed.

        table: quotes, trades or orders. Reads the file twice.
        """
        from .dbn import write

        write(self, checked_path(path), table, dataset)

    @property
    def symbols(self) -> Names:
        """Symbol of each instrument seen so far, by `instrument_id`."""
        return self._names().symbols()

    @property
    def venues(self) -> Names:
        """Venue of each instrument seen so far, by `instrument_id`."""
        return self._names().venues()

    def symbols_of(self, rows: Rows) -> Names:
        """The symbol of each row that this scan has read. Raises ValueError for rows of another file, unless they are
        copies.
        """
        origin = origin_of(rows)
        return self._names(has_rows=origin == self._origin(True) if origin is not None else None).of(rows)

    @property
    def _opened(self) -> _Opened | None:
        """The newest reading: of this thread, or of any if this one has not read."""
        return self._readings.newest.get()

    @property
    def report(self) -> Report:
        """Results of the newest reading so far: of this thread, or of any if this one has not read."""
        opened = self._opened
        return opened.report(self._date) if opened is not None else Report(date=self._date)

    def _only_symbol(self, symbol: str) -> Scan:
        return Scan(
            self.path,
            self._kind,
            self._form,
            symbols=[symbol],
            start=self._start,
            end=self._end,
            prices="float64",
            date=self._date,
            midnight=self._midnight,
            only=self._only,
            timestamps=self._timestamps,
            progress=self._progress,
        )

    def _open(self, tables: int = 0, itch: str | None = None) -> _Opened:
        opened = _Opened(self, tables, itch)
        self._readings.add(opened)
        return opened

    def _open_itch(self, letter: str) -> _Opened:
        if self._kind == "journal" or (self._kind == "capture" and self._form != "itch"):
            raise ValueError(f"{self.path}: only an ITCH file or a capture with ITCH has messages and orders")
        return self._open(itch=letter)

    def _origin(self, has_rows: bool) -> Origin:
        """Returns the source of instrument numbers. All readings of a file use the same numbers, except that tables and
        ITCH messages differ, and that a part of a journal has its own.
        """
        part = f"{self._start} to {self._end}" if self._kind == "journal" else ""
        words = f"orders or messages of {self!r}" if has_rows else f"{self!r}"
        return words, self._kind, self._form, self._only, part

    def _joined(self, parts: list[Rows]) -> Rows:
        rows = np.concatenate(parts)
        if origin := origin_of(parts[0]):
            note_origin(origin, rows)
        return rows

    def _names(self, has_rows: bool | None = None) -> NameTable:
        """Names of the reading that has seen the most instruments. has_rows: of ITCH messages or of tables; None: as
        the newest reading.
        """
        newest = self._opened
        if has_rows is None:
            has_rows = newest is not None and newest.has_rows
        return self._readings.names(has_rows) or NameTable(lambda first: [], self._origin(has_rows))

    @contextmanager
    def _following(self) -> Generator[None, None, None]:
        """Shows the progress of a reading that another package drives."""
        progress = Progress(f"millpond: {self.path}", _size(self.path), self._progress)
        with progress.following(lambda: opened.done() if (opened := self._opened) is not None else 0):
            yield

    def _arrow(self, table: str, max_rows: int) -> object:
        which = TABLES.index(table)
        return _core.arrow_stream(self._open(1 << which).tables, which, max_rows)

    def _itch_arrow(self, letter: str, max_rows: int) -> object:
        return _core.itch_stream(self._open_itch(letter).itch, max_rows)

    def _parts(self, tables: Iterable[str], max_rows: int) -> Iterator[list[tuple[str, _core.TablePart]]]:
        """Yields rows of several tables in one reading of this thread, in streams of one batch; first an empty one of
        each table. Each step takes a bounded time, and may be on another thread.
        """
        which = [TABLES.index(table) for table in tables]
        reader = _core.ScanTables(self._open(sum(1 << each for each in which)).tables, which, max_rows)

        def all_parts() -> Iterator[list[tuple[str, _core.TablePart]]]:
            parts: list[tuple[int, _core.TablePart]] | None = reader.empty()
            while parts is not None:
                yield [(TABLES[table], part) for table, part in parts]
                parts = reader.read()

        return all_parts()

    def _read(self, max_rows: int, tables: int) -> Iterator[Batch]:
        limit = checked_rows(max_rows)
        opened = self._open(tables)
        for arrays in self._read_all(opened, lambda: opened.tables.read(limit)):
            batch = batch_of(arrays, self._nanos)
            note_origin(opened.table.origin, *filter(len, batch.tables()))
            batch.missed = int((batch.lost["last"] - batch.lost["first"] + np.uint64(1)).sum())
            if len(batch):
                yield batch

    def _read_itch(self, letter: str, max_rows: int) -> Iterator[npt.NDArray[np.uint8]]:
        """Rows of ITCH messages of this type, or of orders ("")."""
        limit = checked_rows(max_rows)
        opened = self._open_itch(letter)
        yield from self._read_all(opened, lambda: opened.itch.read(limit))

    def _read_all(self, opened: _Opened, read: Callable[[], _Read | None]) -> Iterator[_Read]:
        """Yields the results of `read` until it returns nothing, then warns if the file has errors."""
        progress = Progress(f"millpond: {self.path}", opened.total, self._progress)
        try:
            while (part := read()) is not None:
                progress.at(opened.done())
                self._readings.newest.set(opened)
                yield part
        finally:
            progress.end()
        self._warn(opened, 4)

    def _unknown_symbols(self, opened: _Opened | None = None) -> list[str]:
        """Returns requested symbols that a complete reading, by default the newest one, did not find."""
        opened = opened or self._opened
        if opened is None or self._symbols is None or not opened.report(None).complete:
            return []
        return sorted(set(self._symbols) - set(opened.table.symbols().tolist()))

    def _warn(self, opened: _Opened | None = None, level: int = 3) -> None:
        """Warns about damaged or lost data of a reading, by default the newest one, and about symbols that it lacks.
        level: stack frames up to the caller.
        """
        report = opened.report(self._date) if opened is not None else self.report
        if unknown := self._unknown_symbols(opened):
            warnings.warn(f"{self.path}: {no_instrument_text(unknown)}", MillpondWarning, stacklevel=level)
        if not report.ok:
            lost, refused = report.counts.get("lost", 0), report.refused
            found = [f"{report.error_count} errors, {lost} events lost"]
            if refused:
                found.append(f"{refused} messages refused")
            if report.errors:
                found.append(report.errors[0])
            elif lost:
                found.append("events were lost before it was written")
            warnings.warn(
                f"{self.path}: {'; '.join(found)}",
                MillpondWarning,
                stacklevel=level,
            )


def no_instrument_text(symbols: list[str]) -> str:
    return f"no instrument is called {', '.join(map(repr, symbols))}"


class _Readings:
    """The readings of a scan."""

    def __init__(self) -> None:
        self.newest: Newest[_Opened] = Newest()
        self._lock = threading.Lock()
        self._live: list[weakref.ref[_Opened]] = []  # not a WeakSet, whose callbacks would swallow Ctrl-C
        # Keys are has_rows. The newest reading, and an earlier one if it has more names, for rows that the user still
        # has.
        self._last: dict[bool, _Opened] = {}
        self._met: dict[bool, NameTable] = {}

    def __reduce__(self) -> tuple[type[_Readings], tuple[()]]:
        return _Readings, ()  # a copy has no readings

    def add(self, opened: _Opened) -> None:
        with self._lock:
            self._live = [*(each for each in self._live if each() is not None), weakref.ref(opened)]
            kind = opened.has_rows
            if kind in self._last:
                self._met[kind] = _larger([self._last[kind].table.frozen(), *self._met_of(kind)])
            self._last[kind] = opened
        self.newest.set(opened)

    def names(self, has_rows: bool) -> NameTable | None:
        """Names of the reading of this kind that has seen the most instruments."""
        live = [opened.table for each in self._live if (opened := each()) is not None and opened.has_rows == has_rows]
        tables = [*live, *self._met_of(has_rows)]
        return _larger(tables) if tables else None

    def _met_of(self, kind: bool) -> list[NameTable]:
        return [self._met[kind]] if kind in self._met else []


def _larger(tables: list[NameTable]) -> NameTable:
    return max(tables, key=lambda table: len(table.symbols()))


class _Opened:
    """One reading of a file: its tables, or rows of ITCH messages of this type ("": orders)."""

    def __init__(self, scan: Scan, tables: int = 0, itch: str | None = None) -> None:
        self.total = _size(scan.path)
        self.has_rows = itch is not None
        self._core: _core.OpenedScan | _core.OpenedRows
        common: _Common = {
            "kind": scan._kind,
            "path": scan.path,
            "only": scan._only,
            "timestamps": scan._timestamps,
            "symbols": scan._symbols,
            "nanos": scan._nanos,
            "start": scan._start,
            "end": scan._end,
            "midnight_utc_ns": scan._midnight,
            "bytes": self.total,
        }
        try:
            if itch is None:
                self._core = _core.open_scan(
                    format=scan._form, tables=tables, depth=scan._depth, orders=scan._with_orders, **common
                )
            else:
                self._core = _core.open_itch_rows(type=itch, **common)
        except _core.FileFormatError as error:
            raise DamagedFile(str(error)) from None
        self.table = NameTable(self._core.names, scan._origin(self.has_rows))

    @property
    def tables(self) -> _core.OpenedScan:
        assert isinstance(self._core, _core.OpenedScan)
        return self._core

    @property
    def itch(self) -> _core.OpenedRows:
        assert isinstance(self._core, _core.OpenedRows)
        return self._core

    def done(self) -> int:
        """Number of bytes read from the file; for a compressed file, compressed bytes."""
        return self._core.offset

    def report(self, date: datetime.date | None) -> Report:
        found = self._core.report()
        return Report(
            dict(found["counts"]), found["errors"], found["error_count"], found["outside"], date, found["ended"]
        )


def scan(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    symbols: Iterable[str] | None = None,
    start: Time | None = None,
    end: Time | None = None,
    prices: str = "float64",
    date: datetime.date | np.datetime64 | str | None = None,
    timezone: str = "America/New_York",
    only: str = "",
    timestamps: str = "auto",
    progress: bool | None = None,
    depth: int | Literal["full"] = 0,
    orders: bool = False,
) -> Scan:
    """A file as tables, read lazily.

    path: a journal's folder or segment, a file of ITCH messages, or a capture (pcap); the files also as .gz or .zst. A
        compressed segment is unpacked into a temporary file, which exists during the reading.
    format: journal or itch; of a capture: itch, quotes, bbo28, miax-tom, iex-tops, iex-deep or
        iex-deep-plus. None: detected from the contents.
    symbols: only these instruments; a MillpondWarning names those that a complete reading did not meet.
    start, end: from this time on, and before that one; by receive time, or exchange time if there is none. Strings,
        dates and datetimes without a zone are UTC; an int is UTC nanoseconds. A Timestamp of pandas is a datetime.
    prices: "float64" in whole units, or "nanos": integers in 1/1,000,000,000, in columns with the ending `_nanos`.
    date: date at the exchange, for formats that count from midnight. None: the day on which a capture begins, or the
        date in the file's name; without one, times count from 1970-01-01, with a MillpondWarning.
    timezone: time zone of that date.
    only: of a capture, only datagrams to this ADDRESS:PORT. Otherwise each address is a channel, including both
        lines of a feed.
    timestamps: of a capture, where receive times come from. "auto": from a switch, if at least half of the first 100
        packets have its times; "capture": from the file; "metamako": the trailer of Arista 7130; "nexus3550": the
        trailer of Cisco Nexus 3550 and ExaLINK Fusion HPT; "keyframes": counters of Arista 7150 and ExaLINK Fusion;
        "arista7280": the header 0xD28B. A choice that none of the first 100 packets has (keyframes: fewer than half of
        those after the first keyframe) raises DamagedFile, which names what was found.
    progress: a progress bar on standard error; None: if that is a terminal and the work is long.
    depth: of ITCH, the levels of a side whose changes are in `levels`, as an int up to 50 or "full". A journal has
        those of its feed.
    orders: of ITCH, whether batches have the changes of orders in `orders`, for `Book`.

    Raises OSError for a file that cannot be read, DamagedFile for one of another format. Later damage is reported in
    `Scan.report`, with a MillpondWarning; the good data around it is delivered.
    """
    name = checked_path(path)
    checked_text("timezone", timezone)
    checked_text("only", only)
    if timestamps not in _TIMESTAMPS:
        raise ValueError(f"timestamps: found {timestamps!r}, must be one of {', '.join(_TIMESTAMPS)}")
    kind, form, first = _kind_of(name, format, timestamps)
    if only and kind != "capture":
        raise ValueError(f"only: found {only!r}, but {name!r} is not a capture and has no addresses")
    if timestamps != "auto" and kind != "capture":
        raise ValueError(f"timestamps: found {timestamps!r}, but {name!r} is not a capture")
    levels = checked_depth(depth, 0, _MAX_DEPTH)
    if (levels or orders) and "itch" not in (kind, form):
        raise ValueError(f"depth, orders: {name!r} is not ITCH; a journal has the levels and orders of its feed")
    day = None if date is None else checked_date(date)
    if day is None and kind != "journal":
        day = date_of(name) if first is None else date_at(first, timezone)
        if day is None and kind == "itch":
            warnings.warn(f"{name}: {NO_DATE}; say the day with date=", MillpondWarning, stacklevel=2)
    return Scan(
        name,
        kind,
        form,
        symbols=checked_symbols(symbols),
        start=None if start is None else time_ns("start", start),
        end=None if end is None else time_ns("end", end),
        prices=prices,
        date=day,
        midnight=None if day is None else midnight_ns(day, timezone),
        only=only,
        timestamps=timestamps,
        progress=progress,
        depth=levels,
        orders=bool(orders),
    )


def _kind_of(path: str, form: str | None, timestamps: str) -> tuple[str, str, int | None]:
    """The reader for the file, the format of its datagrams, and the capture time of the first one."""
    if form is not None and form != "journal" and form not in _CAPTURES:
        raise ValueError(f"format: found {form!r}, must be journal or one of {', '.join(_CAPTURES)}")
    if os.path.isdir(path):
        if form not in (None, "journal"):
            raise ValueError(f"format: {path!r} is a folder, so a journal, and not {form!r}")
        segments = sorted(name for name in os.listdir(path) if ".mpj." in name + ".")
        packed = [name for name in segments if name.endswith((".mpj.gz", ".mpj.zst"))]
        if packed:  # a scan of the folder would omit its records
            raise DamagedFile(f"'{path}': segment {packed[0]!r} is compressed; unpack it, or scan it alone")
        if not any(name.endswith(".mpj") for name in segments):
            raise DamagedFile(f"'{path}': the folder has no segment of a journal (*.mpj)")
        return "journal", "", None
    try:
        kind = _core.file_kind(path)
        found, first = _core.look_at_capture(path, timestamps) if kind == "capture" else ("", None)
    except _core.FileFormatError as error:
        raise DamagedFile(str(error)) from None
    if kind == "capture" and form != "journal":
        if not (form or found):
            raise DamagedFile(f"'{path}': cannot detect the format of the capture; set format= to one of {_CAPTURES}")
        return kind, form or found, first
    if kind in ("itch", "journal") and form in (None, kind):
        return kind, "", None
    if not kind and form in ("itch", "journal"):
        return form, "", None  # the start of the file is damaged
    if kind:
        raise DamagedFile(f"'{path}': format {form!r} was asked for, but this is {_KINDS[kind]}")
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise DamagedFile(f"'{path}': the file is empty")
    raise DamagedFile(f"'{path}': neither a journal, a capture (pcap) nor a file of ITCH messages")


def _size(path: str) -> int:
    if os.path.isdir(path):
        return sum(each.stat().st_size for each in os.scandir(path) if each.is_file())
    return os.stat(path).st_size
