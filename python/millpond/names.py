"""Names of instruments, by `instrument_id`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .batch import NO_INSTRUMENT, Rows

Names = npt.NDArray[np.str_]


Origin = tuple[str, ...]
"""The source of instrument numbers: a description, then the settings that distinguish it from others."""

_origins: dict[int, tuple[weakref.ref[Rows], Origin]] = {}
"""Source of the instrument numbers, by id of an array that owns its memory or whose memory the extension owns."""
_max_origins = 64  # beyond it, origins of arrays that no longer exist are removed


def note_origin(origin: Origin, *tables: Rows) -> None:
    """Records the origin of the instrument numbers of these rows. Callbacks of weak references would swallow Ctrl-C."""
    global _max_origins
    for rows in tables:
        root = _root(rows)
        _origins[id(root)] = weakref.ref(root), origin
    if len(_origins) > _max_origins:
        for key, (root_of, _) in list(_origins.items()):
            if root_of() is None:
                _origins.pop(key, None)
        _max_origins = 2 * len(_origins) + 64


def origin_of(rows: Rows) -> Origin | None:
    """Returns the origin of the instrument numbers of rows or views of them; None for other arrays, such as copies."""
    root = _root(rows)
    known = _origins.get(id(root))
    return known[1] if known is not None and known[0]() is root else None


def _root(rows: Rows) -> Rows:
    while isinstance(rows.base, np.ndarray):
        rows = rows.base
    return rows


class NameTable:
    """Symbols and venues as arrays that grow with the results of `more(first)`: (venue, symbol) pairs as bytes.

    origin: the source of the instrument numbers. Any thread may call the methods: arrays are replaced, not changed.
    """

    def __init__(self, more: Callable[[int], list[tuple[bytes, bytes]]], origin: Origin) -> None:
        self._more = more
        self.origin = origin
        self._names: tuple[Names, Names] = np.empty(0, "<U1"), np.empty(0, "<U1")

    def symbols(self) -> Names:
        return self._grown()[0]

    def venues(self) -> Names:
        return self._grown()[1]

    def of(self, rows: Rows) -> Names:
        """The symbol of each row; empty for rows that concern a whole channel. Raises ValueError for rows of which it
        is known that something else numbers their instruments.
        """
        origin = origin_of(rows)
        if origin is not None and origin != self.origin:
            options = " with other options" if origin[0] == self.origin[0] else ""
            raise ValueError(f"rows: they belong to {origin[0]}{options}, not to {self.origin[0]}")
        ids = rows["instrument_id"]
        symbols = self.symbols()
        everyone = ids == NO_INSTRUMENT
        if everyone.any():
            symbols = np.append(symbols, "")
            ids = np.where(everyone, len(symbols) - 1, ids)
        if len(ids) and int(ids.max()) >= len(symbols):
            raise ValueError(f"rows: no instrument with number {int(ids.max())} was read from {self.origin[0]}")
        result: Names = symbols[ids]
        return result

    def frozen(self) -> NameTable:
        """The names so far."""
        table = NameTable(lambda first: [], self.origin)
        table._names = self._grown()
        return table

    def _grown(self) -> tuple[Names, Names]:
        symbols, venues = names = self._names
        if new := self._more(len(symbols)):
            names = (
                np.append(symbols, _texts([symbol for _, symbol in new])),
                np.append(venues, _texts([venue for venue, _ in new])),
            )
            self._names = names
        return names


def _texts(names: list[bytes]) -> npt.NDArray[Any]:
    return np.array([name.decode("utf-8", "backslashreplace") for name in names], dtype=np.str_)
