"""ITCH messages of one type with all their fields, and order events, as tables."""

# pyarrow has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .arguments import checked_path
from .batch import NO_INSTRUMENT, UNDEF_PRICE, Rows, is_mantissa
from .interrupt import original

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from .tables import Readable

_HEAD = [("ts_recv", "<M8[ns]"), ("ts_event", "<M8[ns]"), ("number", "<u8"), ("instrument_id", "<u4"),
         ("channel", "<u2"), ("reserved", "<u2")]  # fmt: skip
_LEVEL_SCALE = 100_000_000

# Fields behind the 11 bytes that all messages have: name and kind. Numbers are u1, u4 and u8; p is a price in 1/10000, l
# a level in 1/10^8, and sN a text of N characters.
_FIELDS = {
    "S": "event:s1",
    "R": "stock:s8 market_category:s1 financial_status:s1 round_lot_size:u4 round_lots_only:s1 classification:s1 "
    "subtype:s2 authenticity:s1 short_sale_threshold:s1 ipo:s1 luld_tier:s1 etp:s1 etp_leverage:u4 inverse:s1",
    "H": "stock:s8 state:s1 reserved:s1 reason:s4",
    "Y": "stock:s8 reg_sho_action:s1",
    "L": "mpid:s4 stock:s8 primary_market_maker:s1 mode:s1 state:s1",
    "V": "level_1:l level_2:l level_3:l",
    "W": "level:s1",
    "K": "stock:s8 release_time:u4 qualifier:s1 price:p",
    "J": "stock:s8 reference_price:p upper_price:p lower_price:p extension:u4",
    "h": "stock:s8 market:s1 action:s1",
    "A": "order_id:u8 side:s1 size:u4 stock:s8 price:p",
    "F": "order_id:u8 side:s1 size:u4 stock:s8 price:p mpid:s4",
    "E": "order_id:u8 size:u4 match_id:u8",
    "C": "order_id:u8 size:u4 match_id:u8 printable:s1 price:p",
    "X": "order_id:u8 size:u4",
    "D": "order_id:u8",
    "U": "order_id:u8 new_order_id:u8 size:u4 price:p",
    "P": "order_id:u8 side:s1 size:u4 stock:s8 price:p match_id:u8",
    "Q": "size:u8 stock:s8 price:p match_id:u8 cross_type:s1",
    "B": "match_id:u8",
    "I": "paired_size:u8 imbalance_size:u8 direction:s1 stock:s8 far_price:p near_price:p reference_price:p "
    "cross_type:s1 price_variation:s1",
    "N": "stock:s8 interest:s1",
    "O": "stock:s8 open_eligibility:s1 min_price:p max_price:p near_price:p near_time:u8 lower_price:p upper_price:p",
}
_BYTES = {"p": 4, "l": 8}
_ORDERS = [*_HEAD[:3], ("order_id", "<u8"), ("price", ""), ("size", "<u8"), ("instrument_id", "<u4"),
           ("channel", "<u2"), ("flags", "<u2"), ("action", "S1"), ("side", "S1")]  # fmt: skip
_ORDER_BYTES = 64


def message_types() -> tuple[str, ...]:
    """Letters of the messages that ITCH 5.0 has."""
    return tuple(_FIELDS)


class _Layout:
    """Layout of rows in the extension's bytes, and their target types."""

    def __init__(self, letter: str, mantissa: bool) -> None:
        price = "<i8" if mantissa else "<f8"
        self.mantissa = mantissa
        self.kinds: dict[str, str] = {}
        if not letter:
            plain = [(name, form or price) for name, form in _ORDERS]
            places = np.cumsum([0, *(np.dtype(form).itemsize for _, form in plain)])[:-1]
            self.raw = _dtype(plain, [int(place) for place in places], _ORDER_BYTES)
            self.dtype = np.dtype(plain)
            return
        head = [field for field in _HEAD if field[0] != "reserved"]
        raw: list[tuple[str, str]] = [*head, ("stock_locate", ">u2"), ("tracking", ">u2")]
        offsets = [0, 8, 16, 24, 28, 33, 35]
        out: list[tuple[str, str]] = [*head, ("stock_locate", "<u2"), ("tracking", "<u2")]
        at = 32 + 11
        for field in _FIELDS[letter].split():
            name, kind = field.split(":")
            size = _BYTES.get(kind) or int(kind[1:])
            form = f"S{size}" if kind[0] == "s" else f">u{size}"
            raw.append((name, form))
            offsets.append(at)
            out.append((name, price if kind in _BYTES else form.replace(">", "<")))
            self.kinds[name] = kind
            at += size
        self.raw = _dtype(raw, offsets, at)
        self.dtype = np.dtype(out)

    def rows(self, data: npt.NDArray[np.uint8]) -> Rows:
        found = data.view(self.raw)
        rows = np.empty(len(found), self.dtype)
        for name in self.dtype.names or ():
            kind = self.kinds.get(name, "")
            if kind in _BYTES and not self.mantissa:
                rows[name] = found[name] / (10_000 if kind == "p" else _LEVEL_SCALE)
            else:
                rows[name] = _without_padding(found[name]) if kind.startswith("s") else found[name]
        return rows


def _dtype(fields: list[tuple[str, str]], offsets: list[int], size: int) -> np.dtype[Any]:
    names, forms = [name for name, _ in fields], [form for _, form in fields]
    return np.dtype({"names": names, "formats": forms, "offsets": offsets, "itemsize": size})


def _without_padding(texts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    plain = np.ascontiguousarray(texts)
    single = plain.view(np.uint8).reshape(len(plain), plain.dtype.itemsize)
    padding = np.logical_and.accumulate((single == ord(" "))[:, ::-1], axis=1)[:, ::-1]
    single[padding] = 0
    return plain


class ItchTable:
    """A table of an ITCH file, or of a capture with ITCH. Each use reads the file again, in bounded memory."""

    def __init__(self, scan: Readable, letter: str) -> None:
        self._scan, self._letter = scan, letter
        self._layout = _Layout(letter, is_mantissa(scan.prices))

    def __repr__(self) -> str:
        return f"{self._scan!r}.{f'messages[{self._letter!r}]' if self._letter else 'orders'}"

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._layout.dtype

    def batches(self, max_rows: int = 65536) -> Iterator[Rows]:
        """The rows in structured arrays of about max_rows."""
        for data in self._scan._read_itch(self._letter, max_rows):
            yield self._layout.rows(data)

    def to_numpy(self) -> Rows:
        """All rows as one structured array."""
        parts = list(self.batches(1 << 20))
        return np.concatenate(parts) if parts else np.empty(0, self.dtype)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow record batches. Needs pyarrow."""
        return self._reader([]).__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        raised: list[BaseException] = []
        with original(raised):
            return self._reader(raised).read_all()

    def to_polars(self) -> polars.DataFrame:
        import polars

        raised: list[BaseException] = []
        with original(raised):
            return polars.DataFrame(self._reader(raised))

    def to_pandas(self) -> pandas.DataFrame:
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_parquet(self, path: str | os.PathLike[str], *, partition_by: str | Iterable[str] | None = None) -> None:
        """Writes the rows to a Parquet file, or with `partition_by` columns to a folder, in bounded memory."""
        from .parquet import write

        raised: list[BaseException] = []
        with original(raised):
            write(self._reader(raised), checked_path(path), partition_by)

    def _reader(self, raised: list[BaseException]) -> Any:
        """Appends to `raised` what ends the reading."""
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError("ITCH messages as Arrow need pyarrow: pip install millpond[arrow]") from None
        arrow: Any = pa
        prices = {name for name, kind in self._layout.kinds.items() if kind in _BYTES} | {"price"}
        schema = arrow.schema([(name, _arrow_type(arrow, self.dtype[name])) for name in self.dtype.names or ()])
        place = schema.get_field_index("instrument_id")
        schema = schema.insert(place + 1, arrow.field("symbol", arrow.string()))

        def record_batches() -> Iterator[Any]:
            try:
                yield None
                yield from self._record_batches(arrow, schema, prices)
            except GeneratorExit:  # the consumer reads no further
                raise
            except BaseException as error:
                raised.append(error)
                raise

        batches = record_batches()
        next(batches)  # within its try: a signal handler may also raise where a generator begins
        return arrow.RecordBatchReader.from_batches(schema, batches)

    def _record_batches(self, arrow: Any, schema: Any, prices: set[str]) -> Iterator[Any]:
        place = schema.get_field_index("symbol")
        for rows in self.batches(1 << 17):
            columns = [_arrow_column(arrow, rows, name, schema.field(name).type, name in prices)
                       for name in self.dtype.names or ()]  # fmt: skip
            symbols = self._scan.symbols_of(rows)
            nowhere = rows["instrument_id"] == NO_INSTRUMENT
            columns.insert(place, arrow.array(symbols, arrow.string(), mask=nowhere))
            yield arrow.record_batch(columns, schema=schema)


def _arrow_type(arrow: Any, form: np.dtype[Any]) -> Any:
    if form.kind == "M":
        return arrow.timestamp("ns", "UTC")
    return arrow.string() if form.kind == "S" else arrow.from_numpy_dtype(form)


def _arrow_column(arrow: Any, rows: Rows, name: str, form: Any, price: bool) -> Any:
    values = np.ascontiguousarray(rows[name])
    if values.dtype.kind == "S":
        return arrow.array(_latin_1(values), form)
    if values.dtype.kind == "M":
        return arrow.array(values, arrow.timestamp("ns")).cast(form)
    missing = np.isnan(values) if values.dtype.kind == "f" else values == UNDEF_PRICE if price else None
    return arrow.array(values, form, mask=missing)


def _latin_1(texts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As numpy.char.decode, which loses the exception of a signal handler, such as that of Ctrl-C."""
    width = texts.dtype.itemsize
    return texts.view(np.uint8).reshape(len(texts), width).astype("<u4").view(f"<U{width}")[:, 0]


class Messages:
    """`scan.messages["A"]`: the messages of that type, with all their fields. The keys are ITCH's letters.

    Columns of all: ts_recv, ts_event, number (of the message in the file, or in its MoldUDP64 session), instrument_id,
    channel, stock_locate and tracking. Levels of "V" are float64, or int64 in 1/10^8.
    """

    def __init__(self, scan: Readable) -> None:
        self._scan = scan

    def __getitem__(self, letter: str) -> ItchTable:
        if letter not in _FIELDS:
            raise KeyError(f"messages: found {letter!r}, must be one of {', '.join(_FIELDS)}")
        return ItchTable(self._scan, letter)

    def __iter__(self) -> Iterator[str]:
        return iter(_FIELDS)

    def __len__(self) -> int:
        return len(_FIELDS)
