"""Compares with itch-book[cli]. MILLPOND_PROGRAM generates the file."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import time
from pathlib import Path

from harness import Bench, Goal, main
from itch_to_numpy import DATE, generate_day


def prepare(folder: Path, messages: int) -> float:
    units = generate_day(folder, messages)
    with (folder / "day.itch").open("rb") as plain, gzip.open(folder / "day.itch.gz", "wb", compresslevel=6) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)
    (folder / "day.itch").unlink()
    return units


def rows(*files: Path) -> list[int]:
    import pyarrow.parquet

    return [pyarrow.parquet.read_metadata(file).num_rows for file in files]


def by_millpond(folder: Path) -> tuple[float, object]:
    out = folder / "millpond"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "millpond", "export", folder / "day.itch.gz", out, "--date", DATE.isoformat()]
    begin = time.perf_counter()
    subprocess.run([*command, "--table", "quotes", "--table", "trades"], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    return seconds, rows(out / "quotes.parquet", out / "trades.parquet")


def by_itch2parquet(folder: Path) -> tuple[float, object]:
    out = folder / "itch2parquet"
    shutil.rmtree(out, ignore_errors=True)
    program = Path(sys.executable).with_name("itch2parquet")
    command = [program, "convert", "--no-md5", "--date", DATE.isoformat(), folder / "day.itch.gz", out]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    return seconds, rows(next(out.rglob("*bbo*.parquet")), next(out.rglob("*trades*.parquet")))


if __name__ == "__main__":
    main(
        Bench(
            name="itch-gz-to-parquet",
            question="What does a gzipped ITCH day cost as Parquet files of best prices and trades?",
            unit="ns/message",
            measured="the commands, start included: a file in the page cache, 2,000 symbols, to files in /tmp",
            not_measured="generating and compressing the file",
            size=10_000_000,
            prepare=prepare,
            contenders={"millpond export": by_millpond, "itch2parquet": by_itch2parquet},
            goals=[Goal("millpond export", "itch2parquet", at_most=0.8)],
            needs={"itch2parquet": "itch_book"},
            needs_all="pyarrow",
            needs_program=True,
        )
    )
