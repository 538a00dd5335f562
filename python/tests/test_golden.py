"""Recorded files of every layout that Python reads, in tests/golden: later versions must give the same rows."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import millpond
import pytest
import zstandard

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
LATEST = {
    "AAPL": (189_220_000_000, 1_500, 189_260_000_000, 600, 1_795_404_483_541_638_187),
    "NVDA": (875_360_000_000, 1_600, 875_410_000_000, 1_200, 1_795_404_483_541_432_311),
    "AMZN": (178_880_000_000, 200, 178_930_000_000, 1_400, 1_795_404_483_540_440_038),
    "GOOG": (141_190_000_000, 1_700, 141_260_000_000, 300, 1_795_404_483_541_837_864),
    "MSFT": (415_080_000_000, 1_900, 415_110_000_000, 1_500, 1_795_404_483_542_032_773),
}
COLUMNS = ("bid_px_00_nanos", "bid_sz_00", "ask_px_00_nanos", "ask_sz_00")


def test_a_recorded_ring_reads_as_before(ring_name: str) -> None:
    shutil.copy(GOLDEN / "ring_v1_board_v3", f"/dev/shm/millpond.{ring_name}")
    ring = millpond.Ring(ring_name, prices="nanos")
    board = ring.board()
    found = {
        ring.symbols[int(row["instrument_id"])]: (*(int(row[name]) for name in COLUMNS), row["ts_recv"].astype(int))
        for row in board
        if row["ts_recv"].astype(int) > 0
    }
    assert found == LATEST


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_a_recorded_journal_reads_as_before(ending: str, tmp_path: Path) -> None:
    path = tmp_path / ("0000000001.mpj" + ending)
    packed = (GOLDEN / "journal_v5.mpj.gz").read_bytes()
    segment = gzip.decompress(packed)
    path.write_bytes({"": segment, ".gz": packed, ".zst": zstandard.compress(segment)}[ending])
    scan = millpond.scan(path, prices="nanos")
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
