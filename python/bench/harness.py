"""The rules of bench/harness in Python: interleaved rounds, medians with 95 % intervals, ratios within a round, checked
answers, and no figure if an answer is wrong. Results have the same JSON format. Each run is a separate process, so that
its peak memory is known.

python itch_to_numpy.py [--size N] [--runs N] [--quick] [--results] [--machine NAME]

Contenders whose package is not installed are skipped and named; so is a bench without contenders.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("MILLPOND_PROGRAM", str(ROOT / "build" / "release" / "apps" / "millpond" / "millpond"))

Run = Callable[[Path], tuple[float, object]]
"""Does the work once with the prepared folder. Returns seconds and an answer."""


@dataclass
class Goal:
    contender: str
    to: str
    at_most: float | None = None
    at_least: float | None = None

    def text(self) -> str:
        sign, bound = ("<=", self.at_most) if self.at_most is not None else (">=", self.at_least)
        return f"{self.contender} {sign} {bound} x {self.to}"

    def judge(self, found: dict[str, float] | None) -> str:
        if found is None:
            return "not resolved on this machine"
        if self.at_most is not None:
            better, worse = found["high"] <= self.at_most, found["low"] > self.at_most
        else:
            assert self.at_least is not None
            better, worse = found["low"] >= self.at_least, found["high"] < self.at_least
        return "met" if better else "missed" if worse else "not resolved on this machine"


@dataclass
class Bench:
    name: str
    question: str
    unit: str
    measured: str
    not_measured: str
    size: int
    prepare: Callable[[Path, int], float]
    """Prepares the folder for the runs. Returns the number of units in it."""
    contenders: dict[str, Run]
    rate: bool = False
    """Whether the value is units per second instead of time per unit."""
    goals: list[Goal] = field(default_factory=list[Goal])
    runs: int = 7
    needs: dict[str, str] = field(default_factory=dict[str, str])
    """The modules that contenders need, by contender."""
    needs_all: str = ""
    """The module that the bench itself needs."""
    needs_program: bool = False


def estimate(values: list[float]) -> dict[str, float] | None:
    """The median and its 95 % interval by order statistics; None for fewer than 6."""
    ordered, count = sorted(values), len(values)
    if count < 6:
        return None
    term = total = 0.5**count
    rank = 1
    while rank < (count + 1) / 2:
        term *= (count - rank + 1) / rank
        total += term
        if 2 * total > 0.05:
            break
        rank += 1
    low, high = ordered[rank - 1], ordered[count - rank]
    return {"median": statistics.median(ordered), "low": low, "high": high, "count": count}


def main(bench: Bench) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=bench.size)
    parser.add_argument("--runs", type=int, default=bench.runs)
    parser.add_argument("--results", action="store_true", help="keep the result in bench/results/MACHINE.jsonl")
    parser.add_argument("--machine", default="")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size: to see that it runs; writes no results")
    options = parser.parse_args()
    if options.quick:
        options.size, options.results = max(1, options.size // 10), False
    if options.one:
        seconds, answer = bench.contenders[options.one[0]](Path(options.one[1]))
        memory = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        print(json.dumps({"seconds": seconds, "answer": answer, "memory": memory >> 10}))
        return
    missing = _missing(bench)
    if missing:
        print(f"{bench.name}: left out: {missing}")
        return
    result = _compare(bench, options)
    _show(result)
    if options.results:
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder, f"{result['name']}.json")
            written.write_text(json.dumps(result))
            subprocess.run([sys.executable, ROOT / "bench" / "stored.py", options.machine or _machine(), written], check=True)


def _missing(bench: Bench) -> str:
    """Skips and names contenders whose module is missing. Exits with the reason if the whole bench cannot run."""
    if bench.needs_program and not Path(PROGRAM).exists():
        return f"no program {PROGRAM}; set MILLPOND_PROGRAM"
    for module in ("millpond", bench.needs_all):
        if module and not _is_there(module):
            return f"no module {module}"
    for name, module in bench.needs.items():
        if not _is_there(module):
            del bench.contenders[name]
            bench.not_measured += f"; {name}, which is not installed here"
    if len(bench.contenders) < 2:
        return "nothing to compare with; not installed: " + ", ".join(bench.needs.values())
    return ""


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _compare(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in bench.contenders}
    order = list(bench.contenders)
    shuffle = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        units = bench.prepare(Path(folder), options.size)
        for number in range(-1, options.runs):  # the first is a warm-up
            shuffle.shuffle(order)
            for name in order:
                said = subprocess.run(
                    [sys.executable, sys.argv[0], "--one", name, folder], stdout=subprocess.PIPE, text=True, check=True
                )
                one = json.loads(said.stdout.splitlines()[-1])
                one["value"] = units / one["seconds"] if bench.rate else one["seconds"] / units * 1e9
                if number >= 0:
                    found[name].append(one)
    answers = {json.dumps(one["answer"]) for runs in found.values() for one in runs}
    if len(answers) != 1:
        each = {name: runs[0]["answer"] for name, runs in found.items()}
        raise SystemExit(f"refused: the contenders' answers differ: {each}")
    first = next(iter(bench.contenders))

    def ratio(name: str, other: str) -> list[float]:
        return [one["value"] / two["value"] for one, two in zip(found[name], found[other])]

    contenders = [
        {
            "name": name,
            "value": estimate([one["value"] for one in runs]),
            "min": min(one["value"] for one in runs),
            "max": max(one["value"] for one in runs),
            "ratio": estimate(ratio(name, first)),
            "discarded": 0,
            "samples": [one["value"] for one in runs],
            "text": f"{statistics.median(one['memory'] for one in runs):.0f} MiB",
        }
        for name, runs in found.items()
    ]
    judged = [
        {"text": goal.text(), "found": (found_ := estimate(ratio(goal.contender, goal.to))), "verdict": goal.judge(found_)}
        for goal in bench.goals
        if goal.to in found
    ]
    return {
        "name": f"python-{bench.name}",
        "question": bench.question,
        "unit": bench.unit,
        "measured": bench.measured,
        "not_measured": bench.not_measured,
        "machine": {
            "cpu": _machine("--processor"),
            "cores": str(os.cpu_count()),
            "kernel": platform.release(),
            "compiler": f"Python {platform.python_version()}, {_versions()}",
            "flags": "",
            "commit": _git("rev-parse", "--short", "HEAD"),
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(),
            "command": f"python {Path(sys.argv[0]).name} --size {options.size} --runs {options.runs}",
            "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        },
        "rounds": options.runs,
        "quick": options.size < bench.size,
        "ratio_to": first,
        "probabilities": [],
        "contenders": contenders,
        "goals": judged,
    }


def _show(result: dict[str, Any]) -> None:
    machine = result["machine"]
    print(f"\n{result['question']}\n  {machine['cpu']} | {machine['compiler']} | load {machine['load']}")
    print(f"  Not measured: {result['not_measured']}")

    def text(found: dict[str, float] | None) -> str:
        return "-" if found is None else f"{found['median']:.4g} [{found['low']:.4g}..{found['high']:.4g}]"

    for each in result["contenders"]:
        value = text(each["value"]) if each["value"] else f"{each['min']:.4g}..{each['max']:.4g}"
        print(f"  {each['name']:<28} {value:>34} {result['unit']} | x {text(each['ratio'])} | {each['text']}")
    for goal in result["goals"]:
        print(f"  goal {goal['text']}: {text(goal['found'])}, {goal['verdict']}", flush=True)


def _versions() -> str:
    import importlib.metadata as metadata

    packages = ("numpy", "pyarrow", "polars", "itch-book", "simplefix", "quickfix")
    known: list[str] = []
    for name in packages:
        try:
            known.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(known)


def _machine(*options: str) -> str:
    """The output of bench/machine_name: the name of this machine's results, or its processor with --processor."""
    command = [ROOT / "bench" / "machine_name", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.strip()
