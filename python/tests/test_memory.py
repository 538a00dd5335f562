"""Memory does not depend on the file's size. Each measurement is a separate process, since a peak never falls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from itch_file import add, delete, execute, framed

pytest.importorskip("pyarrow")

NOON = 12 * 3600 * 10**9
WORK = """
import os, resource, sys
import millpond, pyarrow
path, out, how = sys.argv[1:]
scan = millpond.scan(path)
if how == "file":
    scan.to_parquet(out)
elif how == "partitions":
    scan.to_parquet(out, partition_by="symbol")
elif how == "orders":
    scan.orders.to_parquet(out)
else:
    for batch in scan.batches():
        pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two days with the same number of live orders, one four times as long as the other."""
    messages = []
    for number in range(10_000):
        locate, order = number % 100, number + 1
        messages.append(add(locate, NOON, order, "B", 100, f"S{locate}", 10_000 + number))
        messages.append(execute(locate, NOON, order, 10, order))
        if number >= 1_000:
            messages.append(delete(locate, NOON, order - 1_000))
    messages += [delete(number % 100, NOON, number + 1) for number in range(9_000, 10_000)]
    block = framed(*messages)
    folder = tmp_path_factory.mktemp("days")
    paths = [folder / "short_20200130.itch", folder / "long_20200130.itch"]
    for path, times in zip(paths, (40, 160)):
        path.write_bytes(block * times)
    return paths


@pytest.mark.parametrize("how", ["batches", "file", "partitions", "orders"])
def test_a_file_four_times_as_long_needs_the_same_memory(days: list[Path], tmp_path: Path, how: str) -> None:
    peaks = []
    for path in days:
        out = tmp_path / path.stem
        said = subprocess.run([sys.executable, "-c", WORK, path, out, how], capture_output=True, text=True, check=True)
        peaks.append(int(said.stdout))
    assert peaks[1] - peaks[0] < 64, f"{peaks} MiB"
