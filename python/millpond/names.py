"""Names of instruments, by `instrument_id`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .batch import NO_INSTRUMENT, Rows

Names = npt.NDArray[np.str_]


class NameTable:
    """Symbols and venues as arrays that grow with the results of `more(first)`: (venue, symbol) pairs as bytes."""

    def __init__(self, more: Callable[[int], list[tuple[bytes, bytes]]]) -> None:
        self._more = more
        self._symbols: Names = np.empty(0, "<U1")
        self._venues: Names = np.empty(0, "<U1")

    def symbols(self) -> Names:
        self._grow()
        return self._symbols

    def venues(self) -> Names:
        self._grow()
        return self._venues

    def of(self, rows: Rows) -> Names:
        """The symbol of each row; empty for rows that concern a whole channel."""
        ids = rows["instrument_id"]
        symbols = self.symbols()
        everyone = ids == NO_INSTRUMENT
        if everyone.any():
            symbols = np.append(symbols, "")
            ids = np.where(everyone, len(symbols) - 1, ids)
        result: Names = symbols[ids]
        return result

    def _grow(self) -> None:
        new = self._more(len(self._symbols))
        if not new:
            return
        self._symbols = np.append(self._symbols, _texts([symbol for _, symbol in new]))
        self._venues = np.append(self._venues, _texts([venue for venue, _ in new]))


def _texts(names: list[bytes]) -> npt.NDArray[Any]:
    return np.array([name.decode("utf-8", "backslashreplace") for name in names], dtype=np.str_)
