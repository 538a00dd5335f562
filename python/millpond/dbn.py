"""Databento's binary format, version 3: quotes as mbp-1, trades as trades, orders as mbo.

Source: the description of the format in the package databento-dbn, which the tests also use to read and write it.
"""

from __future__ import annotations

import os
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import checked_path, checked_text
from .batch import PRICE_SCALE, UNDEF_PRICE, Flag, Rows, dtypes, is_nanos
from .errors import DamagedFile, MillpondWarning
from .itch import itch_dtype
from .whole_file import whole

if TYPE_CHECKING:
    from .tables import Readable

_UNDEF_TIME = 2**64 - 1
_NO_TIME = np.iinfo(np.int64).min
_NAME = 71  # bytes of a symbol
_F_LAST, _F_BAD_TS_RECV, _F_MAYBE_BAD_BOOK = 128, 8, 4
_SCHEMAS = {"orders": 0, "quotes": 1, "trades": 4}  # mbo, mbp-1, trades
_RTYPES = {"orders": 160, "quotes": 1, "trades": 0}
_TABLES = {rtype: table for table, rtype in _RTYPES.items()}
_HEADER = [("length", "u1"), ("rtype", "u1"), ("publisher_id", "<u2"), ("instrument_id", "<u4"), ("ts_event", "<u8")]
_TRADE = [
    *_HEADER, ("price", "<i8"), ("size", "<u4"), ("action", "S1"), ("side", "S1"), ("flags", "u1"), ("depth", "u1"),
    ("ts_recv", "<u8"), ("ts_in_delta", "<i4"), ("sequence", "<u4"),
]  # fmt: skip
_QUOTE = [
    *_TRADE, ("bid_px_00", "<i8"), ("ask_px_00", "<i8"), ("bid_sz_00", "<u4"), ("ask_sz_00", "<u4"),
    ("bid_ct_00", "<u4"), ("ask_ct_00", "<u4"),
]  # fmt: skip
_ORDER = [
    *_HEADER, ("order_id", "<u8"), ("price", "<i8"), ("size", "<u4"), ("flags", "u1"), ("channel_id", "u1"),
    ("action", "S1"), ("side", "S1"), ("ts_recv", "<u8"), ("ts_in_delta", "<i4"), ("sequence", "<u4"),
]  # fmt: skip
_DTYPES = {"orders": np.dtype(_ORDER), "quotes": np.dtype(_QUOTE), "trades": np.dtype(_TRADE)}
_SIZES = {
    0: {48}, 1: {80}, 10: {368}, 17: {56}, 18: {40}, 19: {360, 400, 520}, 20: {112}, 21: {80, 320}, 22: {80, 176},
    23: {80, 320}, 24: {64, 80}, 32: {56}, 33: {56}, 34: {56}, 35: {56}, 36: {56}, 160: {56}, 177: {80}, 192: {80},
    193: {80}, 194: {80}, 195: {80}, 196: {80}, 197: {80},
}  # fmt: skip
"""Bytes of the records of each type, in all versions of the format, without the time of sending."""
_TS_OUT = 8  # bytes of that time, which follows each record if the metadata say so
_TS_OUT_AT = {1: 52, 2: 44, 3: 44}  # their byte that says so, by version
_AHEAD = 8 << 10  # bytes: more than three records have
_WINDOW = 64 << 10


def write(scan: Readable, path: str, table: str, dataset: str) -> None:
    """See Scan.to_dbn."""
    if table not in _SCHEMAS:
        raise ValueError(f"table: found {table!r}, must be orders, quotes or trades")
    if len(checked_text("dataset", dataset)) > 16 or not dataset.isascii() or not dataset.isprintable():
        raise ValueError(f"dataset: found {dataset!r}, must be up to 16 printable ASCII characters")
    first, last = _extent(scan, table)
    with whole(path) as part, open(part, "wb") as file:
        symbols = scan.symbols.tolist()  # of the reading for the extent
        file.write(_metadata(table, dataset, first, last, symbols))
        for rows in getattr(scan, table).batches():
            file.write(_records(rows, table, scan.prices == "nanos").tobytes())


def _extent(scan: Readable, table: str) -> tuple[int, int]:
    """Returns the first and the last time. Reads the file in advance: the metadata with all names precede the rows."""
    first, last = 2**63 - 1, 0
    for rows in getattr(scan, table).batches():
        times = _time(rows).astype(np.int64)
        times = times[times != _NO_TIME]
        if len(times):
            first, last = min(first, int(times.min())), max(last, int(times.max()))
    if first < 0:
        raise ValueError(f"{scan!r}: a time before 1970-01-01, which the format cannot hold")
    return (first, last) if last else (0, 0)


def _time(rows: Rows) -> npt.NDArray[np.datetime64]:
    times: npt.NDArray[np.datetime64] = np.where(np.isnat(rows["ts_recv"]), rows["ts_event"], rows["ts_recv"])
    return times


def _metadata(table: str, dataset: str, first: int, last: int, symbols: list[str]) -> bytes:
    def cstr(text: str) -> bytes:
        name = text.encode()
        if len(name) >= _NAME:
            raise ValueError(f"symbol {text!r} is longer than {_NAME - 1} bytes")
        return name.ljust(_NAME, b"\0")

    names = sorted(set(symbols))
    ids: dict[str, int] = {}
    for number, symbol in enumerate(symbols):
        ids.setdefault(symbol, number)
    begin, end = _day(first), _day(last) + 1
    mappings = b"".join(
        cstr(symbol) + struct.pack("<I", 1) + struct.pack("<II", _date(begin), _date(end)) + cstr(str(ids[symbol]))
        for symbol in names
    )
    body = (
        dataset.encode().ljust(16, b"\0")
        + struct.pack("<HQQQ", _SCHEMAS[table], first, last + 1, 0)
        + struct.pack("<BBBH", 1, 0, 0, _NAME)  # raw symbols in, instrument ids out, no ts_out
        + bytes(53)
        + struct.pack("<I", 0)
        + struct.pack("<I", len(names))
        + b"".join(map(cstr, names))
        + struct.pack("<II", 0, 0)
        + struct.pack("<I", len(names))
        + mappings
    )
    body += bytes(-len(body) % 8)  # records are aligned
    return b"DBN" + struct.pack("<BI", 3, len(body)) + body


def _day(utc_ns: int) -> int:
    return utc_ns // 86_400_000_000_000


def _date(day: int) -> int:
    date = np.datetime64(day, "D").item()
    return int(date.year * 10_000 + date.month * 100 + date.day)


def _undefined(times: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    return np.where(np.isnat(times), np.uint64(_UNDEF_TIME), times.astype(np.int64).view(np.uint64))


def _price(rows: Rows, column: str, nanos: bool) -> npt.NDArray[np.int64]:
    if nanos:
        return rows[column + "_nanos"]
    prices = rows[column]
    none = np.isnan(prices)
    prices = np.where(none, 0, prices)
    if len(prices) and np.abs(prices).max() >= 2**63 / PRICE_SCALE:
        raise ValueError("a price is larger than the format can hold")
    # A large float64 stands for several prices: the one with four decimals is meant if it is among them.
    coarse = np.rint(prices * 10_000) * (PRICE_SCALE // 10_000)
    exact = np.where(coarse / PRICE_SCALE == prices, coarse, np.rint(prices * PRICE_SCALE)).astype(np.int64)
    return np.where(none, UNDEF_PRICE, exact)


def _small(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    if len(values) and int(values.max()) >= 2**32:
        raise ValueError(f"{name}: found {int(values.max())}, the format holds at most {2**32 - 1}")
    return values.astype(np.uint32)


def _records(rows: Rows, table: str, nanos: bool) -> npt.NDArray[Any]:
    out = np.zeros(len(rows), _DTYPES[table])
    out["length"], out["rtype"] = out.dtype.itemsize // 4, _RTYPES[table]
    out["publisher_id"] = rows["channel"]
    out["instrument_id"] = rows["instrument_id"]
    out["ts_event"] = _undefined(np.where(np.isnat(rows["ts_event"]), rows["ts_recv"], rows["ts_event"]))
    out["ts_recv"] = _undefined(_time(rows))
    sequence = rows["number" if table == "orders" else "sequence"]
    out["sequence"] = (sequence & np.uint64(0xFFFF_FFFF)).astype(np.uint32)
    out["side"] = b"N"
    out["flags"] = (rows["flags"] & int(Flag.LAST)) if table == "orders" else _F_LAST
    out["flags"] |= np.where(np.isnat(rows["ts_recv"]), _F_BAD_TS_RECV, 0).astype(np.uint8)
    incomplete = (rows["flags"] & int(Flag.INCOMPLETE)) != 0
    out["flags"] |= np.where(incomplete, _F_MAYBE_BAD_BOOK, 0).astype(np.uint8)
    if table == "orders":
        for column in ("order_id", "action", "side"):
            out[column] = rows[column]
        out["channel_id"] = rows["channel"]
        out["price"], out["size"] = _price(rows, "price", nanos), _small("size", rows["size"])
        return out
    if table == "trades":
        out["action"], out["price"] = b"T", _price(rows, "price", nanos)
        out["size"] = _small("size", rows["size"])
        return out
    out["action"], out["price"] = b"M", UNDEF_PRICE
    for side in ("bid", "ask"):
        out[f"{side}_px_00"] = _price(rows, f"{side}_px_00", nanos)
        out[f"{side}_sz_00"] = _small(f"{side}_sz_00", rows[f"{side}_sz_00"])
    return out


def from_dbn(path: str | os.PathLike[str], *, prices: str = "float64") -> Iterator[tuple[str, Rows]]:
    """Tables of a DBN file of version 1 to 3, also as .zst or .gz, as (table, rows) in the file's order.

    mbp-1 records are "quotes", and "trades" too if their action is a trade; trades records are "trades", and mbo
    records "orders". Other records are skipped. `instrument_id` is that of the file. After a damaged record the next rows are those where three records follow each other, and a MillpondWarning
    comes at the end. The format has no checksums: wrong values in a record are not noticed. Raises DamagedFile for
    other or truncated files.
    """
    name = checked_path(path)
    is_nanos(prices)
    damage = _Damage()
    good = False
    pieces = _pieces(name)
    data = _at_least(8, b"", pieces)
    if len(data) < 8 or data[:3] != b"DBN" or not 1 <= data[3] <= 3:
        raise DamagedFile(f"'{name}': not a DBN file of version 1 to 3; it begins with {data[:8]!r}")
    version, length = data[3], int.from_bytes(data[4:8], "little")
    data = _at_least(8 + length, data, pieces)
    if len(data) < 8 + length:
        raise DamagedFile(f"'{name}': the file ends within its metadata of {length} bytes")
    metadata = data[8 : 8 + length]
    more = _TS_OUT if any(metadata[_TS_OUT_AT[version] :][:1]) else 0
    for rtype, size, run in _runs(data[8 + length :], pieces, name, 8 + length, more, damage):
        good = True
        table = _TABLES.get(rtype)
        if table is None:
            continue
        rows = np.frombuffer(run, np.uint8).reshape(-1, size)[:, : _DTYPES[table].itemsize]
        found = np.ascontiguousarray(rows).view(_DTYPES[table])[:, 0]
        yield table, _from(found, table, prices)
        if table == "quotes":
            traded = found[found["action"] == b"T"]
            if len(traded):
                yield "trades", _from(traded, "trades", prices)
    if damage.count and not good:
        raise DamagedFile(damage.first)
    if damage.count:
        warnings.warn(f"{damage.count} damaged ranges are skipped; {damage.first}", MillpondWarning, stacklevel=2)


@dataclass(slots=True)
class _Damage:
    count: int = 0
    first: str = ""

    def add(self, text: str) -> None:
        self.count += 1
        self.first = self.first or text


def _pieces(name: str) -> Iterator[bytes]:
    """The file's contents, decompressed."""
    try:
        contents = _core.FileContents(name)
        while piece := contents.next():
            yield piece
    except _core.FileFormatError as error:
        raise DamagedFile(str(error)) from None


def _at_least(count: int, data: bytes, pieces: Iterator[bytes]) -> bytes:
    """Appends following bytes until there are `count`, or until the file ends."""
    parts, size = [data], len(data)
    while size < count and (piece := next(pieces, b"")):
        parts.append(piece)
        size += len(piece)
    return b"".join(parts)


def _runs(
    rest: bytes, pieces: Iterator[bytes], name: str, offset: int, more: int, damage: _Damage
) -> Iterator[tuple[int, int, bytes]]:
    """Yields runs of records of one type and size: type, size and bytes. rest: the first bytes. more: extra bytes of
    each record.
    """
    ended, lost = False, False
    while not ended:
        chunk = next(pieces, b"")
        ended = not chunk
        data = rest + chunk
        at = 0
        while len(data) - at >= (1 if ended else _AHEAD):
            if lost:
                at, lost = _next_record(data, at, more, ended)
                if lost and ended:
                    return
                continue
            problem = _problem(data, at, more)
            if problem:
                damage.add(f"'{name}', byte {offset + at}: {problem}")
                step = _right_size(data, at, more)
                lost, at = step == 0, at + (step or 4)
                continue
            size = data[at] * 4
            if at + size > len(data):
                place = f"'{name}', byte {offset + at}"
                raise DamagedFile(f"{place}: the file ends after {len(data) - at} bytes of a record")
            stop = _run(data, at, size)
            yield data[at + 1], size, data[at:stop]
            at = stop
        rest = data[at:]
        offset += at


def _problem(data: bytes, at: int, more: int) -> str:
    size = data[at] * 4
    if size < 16:
        return f"a record of {size} bytes, the minimum is 16"
    if at + 1 == len(data):
        return ""  # the file ends here
    sizes = _SIZES.get(data[at + 1])
    if sizes is None:
        return f"a record of unknown type {data[at + 1]}"
    if size - more not in sizes:
        right = " or ".join(str(each + more) for each in sorted(sizes))
        return f"a record of type {data[at + 1]} and {size} bytes, must be {right}"
    return ""


def _right_size(data: bytes, at: int, more: int) -> int:
    """Returns the size of the record if only its length or its type is damaged, else 0."""
    kinds = data[at + 1 : at + 2]  # none where the file ends
    sizes = {data[at] * 4, *(size + more for kind in kinds for size in _SIZES.get(kind, ()))}
    return next((size for size in sorted(sizes) if size >= 16 and _records_follow(data, at + size, more)), 0)


def _next_record(data: bytes, at: int, more: int, ended: bool) -> tuple[int, bool]:
    """Finds where records follow each other again after damage. Returns (offset, False), or (offset from which more
    data is needed, True).
    """
    last = len(data) - (2 if ended else _AHEAD)
    while at <= last:
        stop = min(at + _WINDOW, last + 1)
        lengths = np.frombuffer(data, np.uint8)[at:stop:4]
        for step in np.flatnonzero(lengths >= 4).tolist():
            if _records_follow(data, at + step * 4, more):
                return at + step * 4, False
        at += len(lengths) * 4
    return at, True


def _records_follow(data: bytes, at: int, more: int) -> bool:
    """True if three records follow each other, or all remaining ones. The last one may be cut off."""
    for count in range(3):
        if at == len(data):
            return True
        if at + 1 >= len(data) or _problem(data, at, more):
            return count > 1 and at >= len(data)
        at += data[at] * 4
    return True


def _run(data: bytes, at: int, size: int) -> int:
    """End of the run of records of this kind. O(its length): each look ahead is eight times the one before."""
    most, ahead = (len(data) - at) // size, 8
    while True:
        count = min(most, ahead)
        heads = np.frombuffer(data, np.uint8, count * size, at).reshape(count, size)[:, :2]
        other = np.flatnonzero((heads != heads[0]).any(axis=1))
        if len(other) or count == most:
            return at + (int(other[0]) if len(other) else count) * size
        ahead *= 8


def _from(found: npt.NDArray[Any], table: str, prices: str) -> Rows:
    is_order = table == "orders"
    out = np.zeros(len(found), itch_dtype("", is_nanos(prices)) if is_order else dtypes(prices)[table])
    out["instrument_id"], out["channel"] = found["instrument_id"], found["publisher_id"]
    out["number" if is_order else "sequence"] = found["sequence"]
    out["flags"] = np.where(found["flags"] & _F_MAYBE_BAD_BOOK, int(Flag.INCOMPLETE), 0)
    for column in ("ts_event", "ts_recv"):
        times = found[column]
        out[column] = np.where(times == _UNDEF_TIME, np.uint64(2**63), times).view("<M8[ns]")
    late = (found["flags"] & _F_BAD_TS_RECV) != 0
    out["ts_recv"][late] = np.datetime64("NaT")
    if is_order:
        out["flags"] |= found["flags"] & int(Flag.LAST)
        for column in ("order_id", "action", "side"):
            out[column] = found[column]
    names = ("bid_px_00", "ask_px_00") if table == "quotes" else ("price",)
    for column in names:
        nanos = found[column]
        if prices == "nanos":
            out[column + "_nanos"] = nanos
        else:
            out[column] = np.where(nanos == UNDEF_PRICE, np.nan, nanos / PRICE_SCALE)
    for column in ("bid_sz_00", "ask_sz_00") if table == "quotes" else ("size",):
        out[column] = found[column]
    return out
