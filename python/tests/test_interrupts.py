"""Ctrl-C ends a conversion by polars at any time. If polars raises an exception itself, KeyboardInterrupt follows it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import millpond
import pytest
from interrupts import ended_by_interrupts
from itch_file import made_up_day
from millpond import fix
from test_fix import generated, raw

polars = pytest.importorskip("polars")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interrupts")
    (path / "day_20200130.itch").write_bytes(made_up_day(50_000, 20)[0])
    (path / "raw.log").write_bytes(b"".join(map(raw, generated(20_000))))
    return path


def day(folder: Path) -> millpond.Scan:
    return millpond.scan(folder / "day_20200130.itch")


READS: dict[str, Callable[[Path], object]] = {
    "quotes": lambda folder: day(folder).to_polars(),
    "trades": lambda folder: day(folder).trades.to_polars(),
    "messages": lambda folder: day(folder).messages["A"].to_polars(),
    "FIX": lambda folder: fix.scan(folder / "raw.log", tags=[55, 58], groups=[270]).to_polars(),
}
OWN_EXCEPTION: dict[str, Callable[[Path], object]] = {
    "a frame of quotes": lambda folder: polars.DataFrame(day(folder)),
    "a frame of FIX": lambda folder: polars.DataFrame(fix.scan(folder / "raw.log")),
}


@pytest.mark.parametrize("what", READS)
def test_an_interrupt_at_any_time_ends_a_conversion_by_polars(folder: Path, what: str) -> None:
    check(lambda: READS[what](folder))


@pytest.mark.parametrize("what", OWN_EXCEPTION)
def test_an_interrupt_follows_an_exception_of_polars(folder: Path, what: str) -> None:
    def read() -> None:
        try:
            OWN_EXCEPTION[what](folder)
        except polars.exceptions.ComputeError:
            for _ in range(2):  # Python checks for interrupts in loops and calls
                pass
            raise

    check(read)


def check(read: Callable[[], object]) -> None:
    assert ended_by_interrupts(read, (KeyboardInterrupt,)) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read()  # no interrupt is pending
