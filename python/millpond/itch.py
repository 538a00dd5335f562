"""ITCH messages of one type with all their fields, and order events, as tables."""

# pyarrow has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .arguments import checked_path
from .batch import Rows, is_nanos, rows_of
from .interrupt import interruptible
from .names import note_origin

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from .tables import Readable


def itch_dtype(letter: str, nanos: bool) -> np.dtype[Any]:
    """The dtype of the messages of a type, or of `orders` ("")."""
    described: Any = _core.describe_itch(letter, nanos)
    dtype: np.dtype[Any] = np.dtype(described)
    return dtype


class ItchTable:
    """A table of an ITCH file, or of a capture with ITCH. Each use reads the file again, in bounded memory."""

    def __init__(self, scan: Readable, letter: str) -> None:
        self._scan, self._letter = scan, letter
        self._dtype = itch_dtype(letter, is_nanos(scan.prices))

    def __repr__(self) -> str:
        return f"{self._scan!r}.{f'messages[{self._letter!r}]' if self._letter else 'orders'}"

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def batches(self, max_rows: int = 65536) -> Iterator[Rows]:
        """The rows in structured arrays of about max_rows."""
        for data in self._scan._read_itch(self._letter, max_rows):
            rows = rows_of(data, self._dtype)
            note_origin(self._scan._origin(True), rows)
            yield rows

    def to_numpy(self) -> Rows:
        """All rows as one structured array."""
        parts = list(self.batches(1 << 20))
        return self._scan._joined(parts) if parts else np.empty(0, self.dtype)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow record batches, which polars, pyarrow and duckdb can read."""
        return self._scan._itch_arrow(self._letter, 1 << 17)

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
        from .parquet import write

        with self._scan._following():
            write(self, checked_path(path), partition_by)
        self._scan._warn()


class Messages:
    """`scan.messages["A"]`: the messages of that type, with all their fields. The keys are ITCH's letters.

    Every table begins with ts_recv, ts_event, number (of the message in the file, or in its MoldUDP64 session),
    instrument_id, channel, stock_locate and tracking. A level of "V" that is larger than any price is none.
    """

    def __init__(self, scan: Readable) -> None:
        self._scan = scan

    def __getitem__(self, letter: str) -> ItchTable:
        if letter not in self:
            raise KeyError(f"messages: found {letter!r}, must be one of {', '.join(self)}")
        return ItchTable(self._scan, letter)

    def __iter__(self) -> Iterator[str]:
        return iter(_core.itch_types())

    def __contains__(self, letter: object) -> bool:
        return letter in tuple(self)

    def __len__(self) -> int:
        return len(_core.itch_types())
