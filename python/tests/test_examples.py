"""The examples run, and print what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from itch_file import made_up_day
from millpond._ring_writer import RingWriter

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def test_day_spreads(tmp_path: Path) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(made_up_day(2_000, 3)[0])
    said = subprocess.run(
        [sys.executable, EXAMPLES / "day_spreads.py", path], capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[0] for line in said.splitlines()[:3]} == {"S0", "S1", "S2"}
    assert "complete=True" in said


def test_live_spreads(ring_name: str) -> None:
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
