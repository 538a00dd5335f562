"""Needs the tests' ring writer: build with MILLPOND_PYTHON_TESTS."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from pathlib import Path

from harness import Bench, Goal, main

LINES = 200_000
BATCH = 65_536


def prepare(folder: Path, quotes: int) -> float:
    (folder / "count").write_text(str(quotes))
    line = (
        '{"type":"quote","symbol":"AAPL","timestamp":1700000000000001007,"exchange_timestamp":1700000000000000007,'
        '"sequence":%d,"bid":{"price":%d.0000,"shares":1},"ask":{"price":0.0000,"shares":2},"spread":null,'
        '"incomplete":false,"halted":false,"firm":true}\n'
    )
    (folder / "lines").write_bytes("".join(line % (number, number) for number in range(1, LINES + 1)).encode())
    return float(quotes)


def filled(folder: Path, open_reader):  # type: ignore[no-untyped-def]
    """A ring with that many quotes, none of which the reader has missed, and the reader."""
    from millpond._ring_writer import RingWriter

    count = int((folder / "count").read_text())
    capacity = 1 << count.bit_length()
    name = f"bench-python-{os.getpid()}"
    writer = RingWriter(name, capacity)
    writer.name(0, "AAPL")
    reader = open_reader(name)
    writer.flood(0, count)
    return writer, reader, count


def by_python(folder: Path) -> tuple[float, object]:
    import millpond

    writer, ring, count = filled(folder, millpond.Ring)
    begin = time.perf_counter()
    rows = missed = 0
    total = 0.0
    for batch in ring.batches(BATCH, timeout=0.0):
        rows, missed = rows + len(batch.quotes), missed + batch.missed
        total += float(batch.quotes["bid_px_00"].sum())
        if rows + missed == count:
            break
    seconds = time.perf_counter() - begin
    assert (rows, missed, total) == (count, 0, count * (count + 1) / 2)
    writer.close()
    return seconds, True


def by_cpp(folder: Path, keep: bool) -> tuple[float, object]:
    from millpond._ring_writer import RingDrain

    writer, drain, count = filled(folder, RingDrain)
    begin = time.perf_counter()
    total = drain.collect(count, BATCH) if keep else drain.drain(count)
    seconds = time.perf_counter() - begin
    assert total == 1_000_000_000 * (count * (count + 1) // 2) % 2**64
    writer.close()
    return seconds, True


def by_cpp_kept(folder: Path) -> tuple[float, object]:
    return by_cpp(folder, keep=True)


def by_cpp_unkept(folder: Path) -> tuple[float, object]:
    return by_cpp(folder, keep=False)


def by_json(folder: Path) -> tuple[float, object]:
    """Seconds for so many quotes, scaled from the time for LINES."""
    import numpy as np

    count = int((folder / "count").read_text())
    with socket.create_server(("127.0.0.1", 0)) as server, (folder / "lines").open("rb") as lines:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendfile(lines)

        sender = threading.Thread(target=serve)
        sender.start()
        with socket.create_connection(server.getsockname()) as connection, connection.makefile("rb") as stream:
            begin = time.perf_counter()
            bids, asks = [], []
            for line in stream:
                event = json.loads(line)
                bids.append(event["bid"]["price"])
                asks.append(event["ask"]["price"])
            arrays = np.array(bids), np.array(asks)
            seconds = time.perf_counter() - begin
        sender.join()
    assert len(arrays[0]) == LINES and arrays[0].sum() == LINES * (LINES + 1) / 2
    return seconds * count / LINES, True


if __name__ == "__main__":
    main(
        Bench(
            name="ring-to-numpy",
            question="How many quotes a second does one thread take from a ring into numpy arrays?",
            unit="quotes/s",
            measured="a ring that is full, read to its end without loss, the bids added up; Ring and the C++ reader that "
            "keeps its quotes hold a batch of 65,536 in memory of their own, the other one keeps nothing",
            not_measured="the writer; the JSON lines come ready-made from a thread of the same process",
            size=2_000_000,
            prepare=prepare,
            contenders={
                "millpond.Ring": by_python,
                "C++ RingReader, quotes kept": by_cpp_kept,
                "C++ RingReader, bids added": by_cpp_unkept,
                "Python loop over TCP JSON": by_json,
            },
            rate=True,
            needs_all="millpond._ring_writer",
            goals=[
                Goal("millpond.Ring", "C++ RingReader, quotes kept", at_least=0.7),
                Goal("millpond.Ring", "Python loop over TCP JSON", at_least=50),
            ],
        )
    )
