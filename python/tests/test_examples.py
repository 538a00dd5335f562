"""The examples run and print the documented output."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import millpond
import numpy as np
import pytest
from itch_file import made_up_day
from millpond._ring_writer import RingWriter

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def test_the_example_day_spreads_runs(tmp_path: Path) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(made_up_day(2_000, 3)[0])
    said = subprocess.run(
        [sys.executable, EXAMPLES / "day_spreads.py", path], capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[0] for line in said.splitlines()[:3]} == {"S0", "S1", "S2"}
    assert "complete=True" in said


def test_the_example_live_spreads_runs(ring_name: str) -> None:
    writer = RingWriter(ring_name)
    writer.name(0, "AAPL")
    process = subprocess.Popen(
        [sys.executable, EXAMPLES / "live_spreads.py", ring_name, "60"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = ""
    while " 0.0200" not in said:
        writer.quote(0, 1_000_000, 1_000_200)
        writer.heartbeat()
        if process.poll() is not None:
            break
        said = next((line for line in [_line(process)] if line), said)
    process.kill()
    process.wait()
    assert "mean spread 0.0200, missed 0, writer alive" in said


def _line(process: subprocess.Popen[str]) -> str:
    import select

    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 0.01)
    return process.stdout.readline() if ready else ""


def test_the_example_notebook_runs(ring_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(EXAMPLES / "live_and_day.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    day = tmp_path / "day_20200130.itch"
    day.write_bytes(made_up_day(3_000, 3)[0])
    for name, value in (("RING", ring_name), ("FRAMES", "3"), ("DAY", str(day))):
        monkeypatch.setenv("MILLPOND_" + name, value)
    writer = RingWriter(ring_name)
    writer.name(0, "AAPL")
    writer.quote(0, 1_000_000, 1_000_200)
    ended = threading.Event()

    def publish() -> None:
        number = 0
        while not ended.wait(0.02):  # the pace of a feed
            number += 1
            writer.quote(0, 1_000_000 + number, 1_000_200 + number, sequence=number)
            writer.heartbeat()

    feed = threading.Thread(target=publish)
    feed.start()
    try:
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    finally:
        ended.set()
        feed.join()
    outputs = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
    text = {name: "".join(each.get("text", "") for each in found) for name, found in outputs.items()}
    assert text["board"].startswith("1 instruments, AAPL is plotted")
    assert text["moving-plot"].endswith("3 frames, 0 events missed\n")
    for plot in ("moving-plot", "day-plot"):
        assert any("image/png" in each.get("data", {}) for each in outputs[plot]), plot
    assert "complete=True" in text["scan"]
    shown = next(each["data"]["text/plain"] for each in outputs["scan"] if "data" in each)
    rows = millpond.scan(day).to_numpy()
    largest = int(np.bincount(rows["instrument_id"]).max())
    assert str(largest) in shown
