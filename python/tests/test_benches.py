"""The benches run at small sizes, and their contenders agree."""

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


BENCH = """
from harness import Bench, main

work = lambda folder: (1.0, True)
main(Bench(name="made-up", question="?", unit="ns", measured="nothing", not_measured="all", size=1, runs=1,
           prepare=lambda folder, size: 1.0, contenders={"ours": work, "known": work, "rival": work}, NEEDS))
"""


def run_bench(folder: Path, needs: str) -> str:
    script = folder / "bench.py"
    script.write_text(BENCH.replace("NEEDS", needs))
    said = subprocess.run([sys.executable, script], env=os.environ | {"PYTHONPATH": str(BENCHES)},
                          capture_output=True, text=True)  # fmt: skip
    assert said.returncode == 0, said.stderr
    return said.stdout


def test_a_rival_that_is_not_installed_is_skipped_and_named(tmp_path: Path) -> None:
    said = run_bench(tmp_path, 'needs={"rival": "no_such_module", "known": "json"}')
    assert "Not measured: all; rival, which is not installed here" in said
    assert sum(line.endswith(" MiB") for line in said.splitlines()) == 2


def test_a_bench_that_cannot_run_is_skipped_with_the_reason(tmp_path: Path) -> None:
    missing = run_bench(tmp_path, 'needs={"rival": "no_such_module", "known": "no_other"}')
    assert missing.splitlines() == ["made-up: left out: nothing to compare with; not installed: no_such_module, no_other"]
    assert run_bench(tmp_path, 'needs_all="no.such"').splitlines() == ["made-up: left out: no module no.such"]
