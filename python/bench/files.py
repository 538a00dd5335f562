"""Files to tables, beside other packages: python files.py [MESSAGES] [RUNS]

Measured:     a file that is in the page cache, to numpy arrays (ITCH) and to an Arrow table (FIX); the import.
Not measured: writing the file, starting the interpreter (import time: less that of numpy alone).
Each run checks its answers. Runs of the contenders alternate; medians are printed as JSON, with their smallest and
largest run and the process's largest memory. Needs itch-book, simplefix and pyarrow.
"""

from __future__ import annotations

import datetime
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import itch_book
import millpond
import pyarrow
import simplefix
from itch_file import made_up_day
from millpond import fix
from test_fix import generated, raw

DATE = datetime.date(2020, 1, 30)


def itch_ours(path: Path) -> int:
    quotes = trades = 0
    for batch in millpond.scan(path, date=DATE).batches(1 << 17):
        quotes, trades = quotes + len(batch.quotes), trades + len(batch.trades)
    return quotes + trades


def itch_theirs(path: Path) -> int:
    batches = itch_book.open(str(path), date=DATE).batches(tables=("bbo", "trades"))
    return sum(len(batch.bbo["seq"]) + len(batch.trades["seq"]) for batch in batches)


def fix_ours(path: Path) -> int:
    return pyarrow.table(fix.scan(path, tags=[55, 58], groups=[270])).num_rows


def fix_theirs(path: Path) -> int:
    parser, count = simplefix.FixParser(), 0
    for line in path.read_bytes().splitlines():
        parser.append_buffer(line.split(b" ", 3)[3].replace(b"\\n", b"\n").replace(b"\\\\", b"\\"))
        while (message := parser.get_message()) is not None:
            message.get(55), message.get(58)
            count += 1
    return count


def import_seconds(module: str) -> float:
    code = f"import time; t=time.perf_counter(); import {module}; print(time.perf_counter()-t)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def compare(what: str, units: int, runs: int, contenders: dict[str, Callable[[], int]]) -> None:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    answers = set()
    for _ in range(runs):
        for name, run in contenders.items():
            begin = time.perf_counter()
            answers.add(run())
            times[name].append(time.perf_counter() - begin)
    assert len(answers) == 1, f"{what}: the contenders disagree, {answers}"
    first = statistics.median(next(iter(times.values())))
    for name, each in times.items():
        median = statistics.median(each)
        row = {
            "what": what, "contender": name, "seconds": median, "min": min(each), "max": max(each),
            "ns_per_unit": median / units * 1e9, "ratio_to_first": median / first, "answer": answers.copy().pop(),
        }  # fmt: skip
        print(json.dumps(row), flush=True)


def main(messages: int, runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        day = Path(folder) / "day.itch"
        day.write_bytes(made_up_day(messages, 200)[0])
        compare("ITCH to BBO and trades in numpy", messages, runs,
                {"millpond": lambda: itch_ours(day), "itch-book": lambda: itch_theirs(day)})  # fmt: skip
        log = Path(folder) / "raw.log"
        log.write_bytes(b"".join(map(raw, generated(max(messages // 20, 1)))))
        compare("FIX log to Arrow", log.stat().st_size, runs,
                {"millpond": lambda: fix_ours(log), "simplefix": lambda: fix_theirs(log)})  # fmt: skip
    ours = statistics.median(import_seconds("numpy, millpond") for _ in range(runs))
    numpy = statistics.median(import_seconds("numpy") for _ in range(runs))
    print(json.dumps({"what": "import beside numpy's own", "seconds": ours - numpy, "numpy": numpy}))
    print(json.dumps({"what": "largest memory, MiB", "value": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
