#!/usr/bin/env python3
"""Finds the highest rate at which a gateway without brokers loses nothing, and names what fails first above it.

    python3 tools/soak/lossless.py [--program FILE] [--quick] [--folder FOLDER] [--results FOLDER]

For the ring alone, each sink alone and all of them, with 1 and 16 quotes in a datagram: rates of three seconds each,
doubled until one does not hold twice in turn, then bisected to an eighth. A rate holds when the generator sent all in time, nothing
was lost by the feed, the sink or its consumer, and the sink was done two seconds later. The ring is read by a process
that filters out every quote and counts what it missed. Gateway, generator and consumers share the processors of this
machine, so that a rate is that of the whole machine and not of one part.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import rate
from gateway import SINKS, Gateway
from machine import machine
from waiting import Failed, wait_for

PACKS = (1, 16)
SECONDS = 3
FIRST = 16_000


class RingReader:
    """`millpond tail`, which reads all and prints nothing."""

    def __init__(self, gateway):
        self.process = subprocess.Popen([gateway.program, "tail", "--ring", gateway.ring, "--symbol", "NO-SUCH-NAME",
                                         "--format", "csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.process.stdout.readline()  # the heading: it has joined

    def missed(self):
        self.process.terminate()
        said = self.process.communicate(timeout=60)[1]
        return int(re.search(r"missed (\d+)", said).group(1))


def fault_of(gateway, quotes, seconds):
    """What does not hold at this rate; empty when all does."""
    before, came, started = gateway.losses_by_part(), gateway.came(), time.monotonic()
    reader = None if gateway.sinks else RingReader(gateway)
    gateway.send(quotes, seconds).communicate()
    late = time.monotonic() - started - seconds
    drained = rate.drains(gateway)
    gateway.settle()
    came = gateway.came() - came
    missed = reader.missed() if reader else 0
    lost = {name: count - before[name] for name, count in gateway.losses_by_part().items() if count > before[name]}
    if missed:
        lost["ring reader"] = missed
    if lost:
        return "lost: " + ", ".join(f"{name} {count}" for name, count in lost.items())
    if late >= 1:
        return "nothing lost, but the generator was late"
    if came < 0.98 * quotes * seconds:
        return "nothing lost, but the generator sent less"
    return "" if drained else "nothing lost, but a sink was more than two seconds behind"


def search(fault_of_rate):
    """The highest rate that holds, and what the lowest one above it failed by. A rate that fails is tried once more,
    because another program may have had the processor."""
    faults = {}

    def holds(quotes):
        fault = fault_of_rate(quotes) and fault_of_rate(quotes)
        if fault:
            faults[quotes] = fault
        return not fault

    best = rate.highest(holds, FIRST)
    return best, faults[min(faults)] if faults else "nothing up to the highest rate tried"


def measure(options, folder, sinks, pack):
    place = pathlib.Path(tempfile.mkdtemp(prefix="lossless-", dir=folder))
    gateway = None
    try:
        gateway = Gateway(options.program, place, sinks=sinks, pack=pack)
        wait_for(lambda: gateway.health() is not None, "the gateway's health")
        best, fault = search(lambda quotes: fault_of(gateway, quotes, 1 if options.quick else SECONDS))
    finally:
        if gateway:
            gateway.stop()
        shutil.rmtree(place, ignore_errors=True)
    names = "shared memory" if not sinks else sinks[0] if len(sinks) == 1 else "all of them"
    row = {"output": names, "quotes_in_a_datagram": pack, "datagrams_per_second": best // pack,
           "quotes_per_second": best, "fails_first": fault}
    print(f"{names:14} {pack:3} {best // pack:10} {best:10}  {fault}", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(prog="lossless", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/apps/millpond/millpond")
    parser.add_argument("--quick", action="store_true", help="one second for each rate, one size of datagrams: too little to quote")
    parser.add_argument("--folder", help="folder for temporary files (default: the system's)")
    parser.add_argument("--results", help="where lossless.json goes")
    options = parser.parse_args()
    rows = []
    print("output         pack  datagrams/s   quotes/s  what fails first above it")
    try:
        for sinks in ((), *((sink,) for sink in SINKS), SINKS):
            for pack in PACKS[-1:] if options.quick else PACKS:
                rows.append(measure(options, options.folder, sinks, pack))
    except Failed as failure:
        print(f"lossless: {failure}", file=sys.stderr)
        return 1
    if options.results:
        folder = pathlib.Path(options.results)
        folder.mkdir(parents=True, exist_ok=True)
        found = {"machine": machine(), "seconds": 1 if options.quick else SECONDS, "rows": rows}
        (folder / "lossless.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
