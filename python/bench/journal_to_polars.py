"""Both contenders make DataFrames of polars. MILLPOND_PROGRAM writes the journal like a gateway."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from harness import PROGRAM, Bench, Goal, main

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))


def prepare(folder: Path, quotes: int) -> float:
    """Returns the number of quotes in the journal."""
    import millpond
    from conftest import Gateway

    journal = folder / "journal"
    gateway = Gateway(PROGRAM, f"bench-python-{folder.name}", "--journal", f"folder={journal},segment_bytes=256MiB")
    try:
        subprocess.run(
            [PROGRAM, "generate", "--to", f"127.0.0.1:{gateway.feed_port}", "--symbols", "2000", "--pack", "8",
             "--rate", "100000", "--count", str(quotes), "--quiet"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        gateway.close()
    scan = millpond.scan(journal)
    scan.to_parquet(folder / "quotes.parquet")
    return float(len(scan.to_numpy()))


def from_journal(folder: Path) -> tuple[float, object]:
    import millpond
    import polars  # noqa: F401

    begin = time.perf_counter()
    frame = millpond.scan(folder / "journal").to_polars()
    return time.perf_counter() - begin, [len(frame), frame["bid_sz_00"].sum()]


def from_parquet(folder: Path) -> tuple[float, object]:
    import polars

    begin = time.perf_counter()
    frame = polars.read_parquet(folder / "quotes.parquet")
    return time.perf_counter() - begin, [len(frame), frame["bid_sz_00"].sum()]


if __name__ == "__main__":
    main(
        Bench(
            name="journal-to-polars",
            question="What does a journal cost as a polars DataFrame?",
            unit="ns/quote",
            measured="files in the page cache, 2,000 symbols, to a DataFrame; polars uses all cores",
            not_measured="imports, writing the files",
            size=2_000_000,
            prepare=prepare,
            contenders={"millpond.scan(journal)": from_journal, "polars.read_parquet": from_parquet},
            goals=[Goal("millpond.scan(journal)", "polars.read_parquet", at_most=1.5)],
            needs_all="polars",
            needs_program=True,
        )
    )
