"""Compares with simplefix and quickfix, where they are installed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from harness import Bench, Goal, main

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))


def prepare(folder: Path, messages: int) -> float:
    """Returns the log's megabytes."""
    from test_fix import generated, raw

    (folder / "raw.log").write_bytes(b"".join(map(raw, generated(messages))))
    return (folder / "raw.log").stat().st_size / 1e6


def bodies(folder: Path) -> list[bytes]:
    lines = (folder / "raw.log").read_bytes().splitlines()
    return [line.split(b" ", 3)[3].replace(b"\\n", b"\n").replace(b"\\\\", b"\\") for line in lines]


def by_millpond(folder: Path) -> tuple[float, object]:
    import pyarrow  # noqa: F401
    from millpond import fix

    begin = time.perf_counter()
    table = fix.scan(folder / "raw.log", tags=[55, 58], groups=[270]).to_arrow()
    return time.perf_counter() - begin, table.num_rows


def by_simplefix(folder: Path) -> tuple[float, object]:
    import pandas  # noqa: F401  pyarrow.table imports it
    import pyarrow
    import simplefix

    begin = time.perf_counter()
    parser = simplefix.FixParser()
    columns: dict[str, list[object]] = {"35": [], "34": [], "55": [], "58": [], "270": []}
    for body in bodies(folder):
        parser.append_buffer(body)
        while (message := parser.get_message()) is not None:
            for tag in ("35", "34", "55", "58"):
                columns[tag].append(message.get(int(tag)))
            columns["270"].append([value for tag, value in message.pairs if tag == b"270"])
    table = pyarrow.table(columns)
    return time.perf_counter() - begin, table.num_rows


def by_quickfix(folder: Path) -> tuple[float, object]:
    import pandas  # noqa: F401  pyarrow.table imports it
    import pyarrow
    import quickfix

    begin = time.perf_counter()
    columns: dict[str, list[object]] = {"35": [], "34": [], "55": [], "58": []}
    for body in bodies(folder):
        message = quickfix.Message(body.decode("latin-1"), False)
        for tag in columns:
            place = message.getHeader() if tag in ("35", "34") else message
            columns[tag].append(place.getField(int(tag)))
    table = pyarrow.table(columns)
    return time.perf_counter() - begin, table.num_rows


if __name__ == "__main__":
    main(
        Bench(
            name="fix-to-arrow",
            question="How fast does a raw FIX log become an Arrow table?",
            unit="MB/s",
            measured="a file in the page cache to a table of five columns; quickfix: without the group's column",
            not_measured="imports, writing the file",
            size=200_000,
            prepare=prepare,
            contenders={"millpond": by_millpond, "simplefix": by_simplefix, "quickfix": by_quickfix},
            rate=True,
            goals=[Goal("millpond", name, at_least=50) for name in ("simplefix", "quickfix")],
            needs={"simplefix": "simplefix", "quickfix": "quickfix"},
            needs_all="pyarrow",
        )
    )
