"""Compares with itch-book. MILLPOND_PROGRAM generates the file."""

from __future__ import annotations

import datetime
import subprocess
import time
from pathlib import Path

from harness import PROGRAM, Bench, Goal, main

DATE = datetime.date(2020, 1, 30)


def generate_day(folder: Path, messages: int) -> float:
    """Generates a file with about this number of ITCH messages of 2,000 symbols. Returns the exact number."""
    changes = str(int(messages / 1.196))
    path = folder / "day.itch"
    command = [PROGRAM, "generate", "--out", path, "--format", "itch", "--symbols", "2000", "--count", changes, "--quiet"]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    words = (said.stdout + said.stderr).split()
    return float(words[words.index("messages,") - 1])


def millpond_batches(folder: Path) -> tuple[float, object]:
    import millpond

    begin = time.perf_counter()
    quotes = trades = 0
    for batch in millpond.scan(folder / "day.itch", date=DATE).batches(1 << 17):
        quotes, trades = quotes + len(batch.quotes), trades + len(batch.trades)
    return time.perf_counter() - begin, [quotes, trades]


def itch_book_batches(folder: Path) -> tuple[float, object]:
    import itch_book

    begin = time.perf_counter()
    quotes = trades = 0
    for batch in itch_book.open(str(folder / "day.itch"), date=DATE).batches(tables=("bbo", "trades")):
        quotes, trades = quotes + len(batch.bbo["seq"]), trades + len(batch.trades["seq"])
    return time.perf_counter() - begin, [quotes, trades]


if __name__ == "__main__":
    main(
        Bench(
            name="itch-to-numpy",
            question="What does an ITCH day cost as best prices and trades in numpy when each message changes a best price?",
            unit="ns/message",
            measured="a file in the page cache, 2,000 symbols, to batches of numpy arrays",
            not_measured="imports, generating the file",
            size=10_000_000,
            prepare=generate_day,
            contenders={"millpond": millpond_batches, "itch-book": itch_book_batches},
            goals=[Goal("millpond", "itch-book", at_most=0.6)],
            needs={"itch-book": "itch_book"},
            needs_program=True,
        )
    )
