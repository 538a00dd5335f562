"""Prints the mean spread of each second and what was missed: python live_spreads.py [RING | tcp://HOST:PORT] [SECONDS]"""

from __future__ import annotations

import sys
import time

import millpond
import numpy as np


def main(source: str, seconds: float) -> None:
    live = millpond.connect(source) if "://" in source else millpond.Ring(source)
    begin = now = time.monotonic()
    quotes = missed = 0
    spreads: list[np.ndarray] = []
    for batch in live.batches(timeout=0.1):
        if len(batch.quotes):
            spreads.append(batch.quotes["ask_px_00"] - batch.quotes["bid_px_00"])
        quotes, missed = quotes + len(batch.quotes), missed + batch.missed
        if time.monotonic() - now >= 1.0:
            mean = np.nanmean(np.concatenate(spreads)) if spreads else float("nan")
            print(f"{quotes} quotes, mean spread {mean:.4f}, missed {missed}, writer {batch.writer}", flush=True)
            now, quotes, spreads = time.monotonic(), 0, []
        if time.monotonic() - begin >= seconds:
            return


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "main", float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
