"""Recorded files of every layout that Python reads, in tests/golden: later versions must read them alike."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import millpond
import pytest
import zstandard

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
LATEST = {
    "AAPL": (1_892_200, 1_500, 1_892_600, 600, 1_795_404_483_541_638_187),
    "NVDA": (8_753_600, 1_600, 8_754_100, 1_200, 1_795_404_483_541_432_311),
    "AMZN": (1_788_800, 200, 1_789_300, 1_400, 1_795_404_483_540_440_038),
    "GOOG": (1_411_900, 1_700, 1_412_600, 300, 1_795_404_483_541_837_864),
    "MSFT": (4_150_800, 1_900, 4_151_100, 1_500, 1_795_404_483_542_032_773),
}
COLUMNS = ("bid_px_00", "bid_sz_00", "ask_px_00", "ask_sz_00")


def test_a_recorded_ring(ring_name: str) -> None:
    shutil.copy(GOLDEN / "ring_v1_board_v2", f"/dev/shm/millpond.{ring_name}")
    ring = millpond.Ring(ring_name, prices="int64")
    board = ring.board()
    found = {
        ring.symbols[int(row["instrument_id"])]: (*(int(row[name]) for name in COLUMNS), row["ts_recv"].astype(int))
        for row in board
        if row["ts_recv"].astype(int) > 0
    }
    assert found == LATEST


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_a_recorded_journal(ending: str, tmp_path: Path) -> None:
    path = tmp_path / ("0000000001.mpj" + ending)
    packed = (GOLDEN / "journal_v3.mpj.gz").read_bytes()
    segment = gzip.decompress(packed)
    path.write_bytes({"": segment, ".gz": packed, ".zst": zstandard.compress(segment)}[ending])
    scan = millpond.scan(path, prices="int64")
    with pytest.warns(millpond.MillpondWarning, match="69 events lost"):
        rows = scan.to_numpy()
    latest = {}
    for row in rows:
        symbol = scan.symbols[int(row["instrument_id"])]
        latest[symbol] = (*(int(row[name]) for name in COLUMNS), row["ts_recv"].astype(int))
    assert latest == LATEST
    assert len(rows) == 200 - 69
    assert scan.report.counts["lost"] == 69
    assert scan._opened is not None and scan._opened.done() == path.stat().st_size
