"""Prints the mean spread of each instrument of a file: python day_spreads.py FILE"""

from __future__ import annotations

import sys

import millpond
import numpy as np


def main(path: str) -> None:
    day = millpond.scan(path)
    sums: dict[int, tuple[float, int]] = {}
    for quotes in day.quotes.batches():
        spread = quotes["ask_px_00"] - quotes["bid_px_00"]
        there = ~np.isnan(spread)
        ids, places = np.unique(quotes["instrument_id"][there], return_inverse=True)
        totals = np.bincount(places, spread[there], len(ids))
        for instrument, total, count in zip(ids.tolist(), totals.tolist(), np.bincount(places, minlength=len(ids))):
            before, times = sums.get(instrument, (0.0, 0))
            sums[instrument] = (before + total, times + int(count))
    for instrument, (total, count) in sorted(sums.items()):
        print(f"{day.symbols[instrument]:8} {count:10} quotes  mean spread {total / count:.4f}")
    print(day.report)


if __name__ == "__main__":
    main(sys.argv[1])
