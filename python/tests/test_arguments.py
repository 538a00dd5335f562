"""What cannot be meant is refused by its name, with what was found and the bound."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import millpond
import pytest
from itch_file import made_up_day


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("day") / "day_20200130.itch"
    path.write_bytes(made_up_day(500, 3)[0])
    return path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"start": 2**63}, "start: found"),
        ({"end": -(10**30)}, "end: found"),
        ({"start": float("nan")}, "not a time"),
        ({"end": float("inf")}, "not a time"),
        ({"date": "0001-01-01"}, "from 1678 to 2261"),
        ({"date": "9999-12-31"}, "from 1678 to 2261"),
        ({"date": "2020-01-30", "timezone": "../../etc/passwd"}, "timezone: "),
        ({"symbols": ["\udcff"]}, "ASCII"),
        ({"only": "127.0.0.1:9"}, "not a capture"),
    ],
)
def test_values_out_of_range_are_refused_by_name(day: Path, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        millpond.scan(day, **arguments)


def test_a_symbol_is_a_str(day: Path) -> None:
    with pytest.raises(TypeError, match="symbols: found 7, must be a str"):
        millpond.scan(day, symbols=["AAPL", 7])  # type: ignore[list-item]


def test_an_interval_beyond_any_time_is_refused(day: Path) -> None:
    with pytest.raises(ValueError, match="interval: found"):
        millpond.scan(day).bars("99999999999999999999s")


@pytest.mark.parametrize("form", ["quotes", "bbo28", "miax-tom"])
def test_an_itch_file_is_not_read_as_another_format(day: Path, form: str) -> None:
    with pytest.raises(millpond.DamagedFile, match="but this is a file of ITCH messages"):
        millpond.scan(day, format=form)


def test_a_folder_without_segments_is_not_an_empty_journal(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of a journal")
    for form in (None, "journal"):
        with pytest.raises(millpond.DamagedFile, match="no segment of a journal"):
            millpond.scan(tmp_path, format=form)


def test_an_interpreter_whose_gil_is_kept_off_is_refused() -> None:
    code = "import sys; sys._is_gil_enabled = lambda: False; import millpond"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "ImportError: millpond needs the GIL" in done.stderr


def test_file_names_that_cannot_be_told_are_refused(day: Path) -> None:
    odd = Path(os.fsdecode(bytes(day.parent) + b"/\xff.itch"))
    odd.write_bytes(day.read_bytes())
    for scan in (millpond.scan, millpond.fix.scan):
        with pytest.raises(ValueError, match="not UTF-8"):
            scan(odd)
        with pytest.raises(ValueError, match="code 0"):
            scan(f"{day}\0.gz")
