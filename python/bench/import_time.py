from __future__ import annotations

import time
from pathlib import Path

from harness import Bench, main


def numpy_alone(_: Path) -> tuple[float, object]:
    begin = time.perf_counter()
    import numpy  # noqa: F401

    return time.perf_counter() - begin, True


def numpy_and_millpond(_: Path) -> tuple[float, object]:
    begin = time.perf_counter()
    import millpond
    import numpy  # noqa: F401

    return time.perf_counter() - begin, bool(millpond.Ring)


if __name__ == "__main__":
    main(
        Bench(
            name="import-time",
            question="What does the import cost beside numpy's own? (goal: at most 30 ms more)",
            unit="ns",
            measured="import in a fresh process",
            not_measured="the interpreter's start",
            size=1,
            prepare=lambda _, size: float(size),
            contenders={"numpy": numpy_alone, "numpy and millpond": numpy_and_millpond},
            runs=21,
        )
    )
