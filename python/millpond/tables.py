"""The interface of scans and tables that exporters use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy.typing as npt

from . import _core
from .batch import Batch, Rows, dtypes
from .names import Names, Origin

TABLES = tuple(dtypes())
"""Names of the tables, in the order of their numbers in the extension module."""


def mask_of(*tables: str) -> int:
    """Returns the bits of these tables."""
    return sum(1 << TABLES.index(table) for table in tables)


class ArrowTable(Protocol):
    """A table that is read as a stream of Arrow record batches."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class Readable(Protocol):
    """A file that is read lazily; implemented by `scan.Scan`."""

    prices: str

    @property
    def symbols(self) -> Names: ...
    def symbols_of(self, rows: Rows) -> Names: ...
    def batches(self, max_rows: int = 65536) -> Iterator[Batch]: ...
    def _origin(self, has_rows: bool) -> Origin: ...
    def _joined(self, parts: list[Rows]) -> Rows: ...
    def _only_symbol(self, symbol: str) -> Readable: ...
    def _read(self, max_rows: int, tables: int) -> Iterator[Batch]: ...
    def _parts(self, tables: Iterable[str], max_rows: int) -> Iterator[list[tuple[str, _core.TablePart]]]: ...
    def _read_itch(self, letter: str, max_rows: int) -> Iterator[npt.NDArray[Any]]: ...
    def _itch_arrow(self, letter: str, max_rows: int) -> object: ...
    def _following(self) -> AbstractContextManager[None]: ...
    def _warn(self) -> None: ...
