#!/usr/bin/env python3
"""Keeps the benches' results: one file for each machine, bench/results/MACHINE.jsonl, with one line for each bench.

usage: bench/stored.py [--folder FOLDER] MACHINE FILE.json...

Adds results that a harness wrote, or replaces those of the same name. Lines are in the order of the benches' names, and
numbers have five significant digits.
"""

import argparse
import json
import math
import os
import re
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "results")


RESOLVED_STEPS = 10
UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
STATISTICS = {"least": "min", "p50": "p50", "p95": "p95", "p99": "p99", "p99.9": "p999", "max": "max"}
GOAL = re.compile(r"(?:(?P<of>least|mean|p50|p95|p99|p99\.9|max) of )?(?P<ours>.+) [<>]= [\d.]+ (?:x (?P<to>.+)|[^ ]+)")


def step(result):
    """The clock's step in the result's unit; 0 if that is none of time. Results from before the harness measured it: 10 ns on
    AMD's machines, which were virtual ones of that step, else 1 ns."""
    unit = UNITS.get(re.split("[/, ]", result["unit"])[0])
    before = 10.0 if "AMD" in result["machine"]["cpu"] else 1.0
    return result.get("clock_step", before / unit) if unit else 0


def is_resolved(result, one, key):
    """False for a quantile of a contender's latencies, or a median that is one, of fewer than ten steps of the clock."""
    latency = one.get("latency")
    if not latency or key == "mean":
        return True
    if key == "value":
        if one["value"] is None or one["value"]["median"] != latency.get("p50"):
            return True
        key = "p50"
    return latency.get(key, math.inf) * one.get("block", 1) >= RESOLVED_STEPS * step(result)


def judged(result):
    """The result; goals of quantiles that the clock does not resolve are not resolved."""
    contenders = {one["name"]: one for one in result["contenders"]}
    for goal in result["goals"]:
        text = GOAL.fullmatch(goal["text"])
        key = STATISTICS.get(text["of"], text["of"] or "value") if text else "value"
        sides = [contenders[name] for name in (text["ours"], text["to"]) if name in contenders] if text else []
        if not all(is_resolved(result, one, key) for one in sides):
            goal["verdict"] = "not resolved"
    return result


def read(folder):
    """{bench: {machine: result}}, both in the order of their names. The machine is "" for a NAME.json of one bench."""
    benches = {}
    for name in sorted(os.listdir(folder)):
        machine, suffix = os.path.splitext(name)
        if suffix not in (".json", ".jsonl"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for result in map(json.loads, file) if suffix == ".jsonl" else [json.load(file)]:
                benches.setdefault(result["name"], {})[machine if suffix == ".jsonl" else ""] = judged(result)
    return dict(sorted(benches.items()))


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return value


def store(machine, paths, folder=FOLDER):
    """Puts the results in the files `paths` into the machine's file. Throws ValueError for a result of --quick."""
    file_name = os.path.join(folder, f"{machine}.jsonl")
    results = {}
    if os.path.exists(file_name):
        with open(file_name, encoding="utf-8") as file:
            results = {result["name"]: result for result in map(json.loads, file)}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        if result["quick"]:
            raise ValueError(f"{path}: a result of --quick is not kept")
        results[result["name"]] = rounded(result)
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.writelines(json.dumps(results[name], separators=(",", ":")) + "\n" for name in sorted(results))
    os.chmod(file.name, 0o644)
    os.replace(file.name, file_name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--folder", default=FOLDER, help="default: bench/results")
    options = parser.parse_args()
    try:
        store(options.machine, options.files, options.folder)
    except ValueError as error:
        sys.exit(f"bench/stored.py: {error}")


if __name__ == "__main__":
    main()
