"""Compares with simplefix and quickfix, if installed. All give the same five columns, which are checked."""

from __future__ import annotations

import re
import sys
import time
import zlib
from pathlib import Path
from typing import Any

from harness import Bench, Goal, main

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

ESCAPE = re.compile(rb"\\(.)")
DICTIONARY = """<fix type="FIX" major="4" minor="4" servicepack="0">
 <header>%s</header>
 <messages>%s</messages>
 <trailer><field name="F10" required="Y"/></trailer>
 <components/>
 <fields>%s</fields>
</fix>
"""
HEADER = (8, 9, 35, 49, 56, 34, 52)


def prepare(folder: Path, messages: int) -> float:
    """Returns the log's megabytes."""
    from test_fix import generated, raw

    (folder / "raw.log").write_bytes(b"".join(map(raw, generated(messages))))
    (folder / "dictionary.xml").write_text(dictionary())
    return (folder / "raw.log").stat().st_size / 1e6


def dictionary() -> str:
    """A dictionary of QuickFIX for the log's messages, each with the market data group."""
    body = '<field name="F55" required="N"/><field name="F58" required="N"/><group name="F268" required="N">'
    body += '<field name="F269" required="N"/><field name="F270" required="N"/></group>'
    return DICTIONARY % (
        "".join(f'<field name="F{tag}" required="Y"/>' for tag in HEADER),
        "".join(f'<message name="M{kind}" msgtype="{kind}" msgcat="app">{body}</message>' for kind in "WD8"),
        "".join(
            f'<field number="{tag}" name="F{tag}" type="{"NUMINGROUP" if tag == 268 else "STRING"}"/>'
            for tag in (*HEADER, 10, 55, 58, 268, 269, 270)
        ),
    )


def bodies(folder: Path) -> list[bytes]:
    """The messages without the start of the line and its escapes."""
    lines = (folder / "raw.log").read_bytes().splitlines()
    return [ESCAPE.sub(lambda found: b"\n" if found[1] == b"n" else found[1], line.split(b" ", 3)[3]) for line in lines]


def text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(text, value))
    return value.decode() if isinstance(value, bytes) else str(value)


def answer(table: Any, columns: list[str]) -> list[int]:
    """The number of rows, and a checksum of each column and of the group's column."""
    sums = [0] * 5
    for rows in table.select([*columns, "270"]).to_batches(1_000):  # few, since the run's largest memory is measured
        for at, column in enumerate(rows.columns):
            sums[at] = zlib.crc32("".join(f"{text(value)};" for value in column.to_pylist()).encode(), sums[at])
    return [table.num_rows, *sums]


def by_millpond(folder: Path) -> tuple[float, object]:
    import pyarrow  # noqa: F401
    from millpond import fix

    begin = time.perf_counter()
    table = fix.scan(folder / "raw.log", tags=[55, 58], groups=[270]).to_arrow()
    return time.perf_counter() - begin, answer(table, ["msg_type", "seq_num", "55", "58"])


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
    return time.perf_counter() - begin, answer(table, ["35", "34", "55", "58"])


def by_quickfix(folder: Path) -> tuple[float, object]:
    import pandas  # noqa: F401  pyarrow.table imports it
    import pyarrow
    import quickfix

    begin = time.perf_counter()
    known = quickfix.DataDictionary(str(folder / "dictionary.xml"))
    columns: dict[str, list[object]] = {"35": [], "34": [], "55": [], "58": [], "270": []}
    entry = quickfix.Group(268, 269)
    for body in bodies(folder):
        message = quickfix.Message(body.decode("latin-1"), known, False)
        for tag in ("35", "34"):
            columns[tag].append(message.getHeader().getField(int(tag)))
        for tag in ("55", "58"):
            columns[tag].append(message.getField(int(tag)))
        prices: list[str] = []
        for number in range(1, message.groupCount(268) + 1):
            message.getGroup(number, entry)
            prices.append(entry.getField(270))
        columns["270"].append(prices)
    table = pyarrow.table(columns)
    return time.perf_counter() - begin, answer(table, ["35", "34", "55", "58"])


if __name__ == "__main__":
    main(
        Bench(
            name="fix-to-arrow",
            question="How fast does a raw FIX log become an Arrow table?",
            unit="MB/s",
            measured="a file in the page cache to a table of five columns",
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
