"""The benches run, at sizes that say nothing, and their contenders agree."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parents[1] / "bench"


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("import_time", 1),
        ("ring_to_numpy", 20_000),
        ("itch_to_numpy", 20_000),
        ("itch_depth_to_numpy", 60_000),
        ("itch_gz_to_parquet", 20_000),
        ("fix_to_arrow", 500),
        ("journal_to_polars", 5_000),
    ],
)
def test_a_bench_runs_and_its_contenders_agree(program: str, name: str, size: int) -> None:
    if name in ("ring_to_numpy", "itch_depth_to_numpy") and importlib.util.find_spec("millpond._ring_writer") is None:
        pytest.skip("a wheel has no ring writer")
    said = subprocess.run(
        [sys.executable, BENCHES / f"{name}.py", "--size", str(size), "--runs", "1"],
        env=os.environ | {"MILLPOND_PROGRAM": program}, capture_output=True, text=True,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    contenders = [line for line in said.stdout.splitlines() if line.endswith(" MiB")]
    assert len(contenders) >= 2, said.stdout
