"""Results equal to those of independent packages."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

import itch_book
import millpond
import numpy as np
from conftest import LONG
from itch_file import made_up_day


def assert_best_prices_are_equal(path: Path, date: datetime.date) -> int:
    """Compares each change of a best bid or offer. Returns the number of changes."""
    scan = millpond.scan(path, prices="nanos", date=date)
    ours = scan.to_numpy()
    # A trading action makes an additional row here, with unchanged prices.
    sides = ["bid_px_00_nanos", "bid_sz_00", "ask_px_00_nanos", "ask_sz_00"]
    feed = itch_book.open(str(path), date=date, price_type="fixed")
    parts = [batch.bbo for batch in feed.batches(tables=("bbo",))]
    theirs = {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
    top = np.stack([theirs[column].astype(np.int64) for column in ("bid_px", "bid_sz", "ask_px", "ask_sz")], axis=1)
    mine = np.stack([ours[column].astype(np.int64) for column in sides], axis=1)
    top[:, (0, 2)] *= 100_000  # theirs are in 1/10000
    for column in (0, 2):  # a side without a quote
        mine[mine[:, column + 1] == 0, column] = 0
        top[top[:, column + 1] == 0, column] = 0
    assert len(mine) == len(top)
    np.testing.assert_array_equal(mine, top)
    np.testing.assert_array_equal(ours["ts_event"], theirs["ts_event"].astype("M8[ns]"))
    return len(mine)


def test_best_prices_equal_itch_book_s(tmp_path: Path) -> None:
    path = tmp_path / "day.itch"
    data, expected = made_up_day(1_000_000, 200, seed=3)
    path.write_bytes(data)
    assert assert_best_prices_are_equal(path, datetime.date(2020, 1, 30)) == len(expected)


def test_best_prices_of_a_generated_day_equal_itch_book_s(program: str, tmp_path: Path) -> None:
    messages = 10_000_000 if LONG else 200_000
    path = tmp_path / "day.itch"
    subprocess.run(
        [program, "generate", "--out", path, "--format", "itch", "--symbols", "2000", "--count", str(messages), "--quiet"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    scan = millpond.scan(path)
    assert sum(1 for _ in scan.messages["S"].batches()) > 0 and scan.report.counts["messages"] > messages
    assert assert_best_prices_are_equal(path, datetime.date(2020, 1, 30)) > messages // 2


def test_best_prices_of_a_real_file_equal_itch_book_s(data: Path) -> None:
    path = data / "aapl_20200130_first10k.itch"
    assert assert_best_prices_are_equal(path, datetime.date(2020, 1, 30)) == 2_792
