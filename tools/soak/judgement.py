"""Compares memory and latency at the end of a run with those at its beginning.

The speed of a machine varies, and so does the latency of a gateway on it. Latency is therefore judged by its ratio to
that of a bare path (reference.py) measured at the same time, in windows in which the bare path was within a quarter of
its median over the run. A change fails only if its whole 95 % interval exceeds the bound; if the interval contains the
bound, the result is `not resolved`, which is not a failure.
"""

import dataclasses
import math
import statistics

MIB = 1024 * 1024
WINDOW_SECONDS = 10  # the gateway's latencies cover its newest 10 seconds
MIN_WINDOWS = 6  # per quarter: fewer windows give no interval
MAX_P50, MAX_P99 = 1.25, 1.5
MAX_MEMORY, MEMORY_SLACK = 1.02, 4 * MIB
MET, MISSED, NOT_RESOLVED = "met", "missed", "not resolved on this machine"


@dataclasses.dataclass(frozen=True)
class Window:
    memory: int  # anonymous, bytes
    p50: float  # wire to ring, nanoseconds
    p99: float
    bare_p50: float
    bare_p99: float


def interval(values):
    """Two of the values, between which the median is with a probability of 95 %; None for fewer than six.

    Source: Conover, Practical Nonparametric Statistics, section 3.2.
    """
    values, count = sorted(values), len(values)
    outside, rank = 0.0, 0
    while rank < count // 2 and outside + math.comb(count, rank) / 2**count <= 0.025:
        outside += math.comb(count, rank) / 2**count
        rank += 1
    return (values[rank - 1], values[count - rank]) if rank else None


def quarters(windows):
    size = len(windows) // 4
    return [windows[i * size:(i + 1) * size] for i in range(4)]


def judge_memory(windows):
    """(text, verdict): the last quarter against the second; the first one still fills long-lived memory."""
    if len(windows) < 4:
        return "anonymous memory: fewer than four windows", NOT_RESOLVED
    second, last = (statistics.median(w.memory for w in quarters(windows)[i]) for i in (1, 3))
    text = f"anonymous memory, last quarter to second: {last / MIB:.1f} to {second / MIB:.1f} MiB"
    return text, MISSED if last > second * MAX_MEMORY + MEMORY_SLACK else MET


def judge_drift(windows, name, most):
    """(text, verdict) of p50 or p99, the last quarter against the first."""
    usual = statistics.median(w.bare_p50 for w in windows) if windows else 0

    def ratios(part):
        return [getattr(w, name) / getattr(w, "bare_" + name) for w in part if 0.75 <= w.bare_p50 / usual <= 1.25]

    first, last = (ratios(quarters(windows)[i]) for i in (0, 3)) if usual else ([], [])
    text = f"{name} over that of a bare path, last quarter to first, <= {most}"
    if min(len(first), len(last)) < MIN_WINDOWS:
        return f"{text}: {len(first)} and {len(last)} comparable windows, {MIN_WINDOWS} needed", NOT_RESOLVED
    first_low, first_high = interval(first)
    last_low, last_high = interval(last)
    low, high = last_low / first_high, last_high / first_low
    change = statistics.median(last) / statistics.median(first)
    verdict = MET if high <= most else MISSED if low > most else NOT_RESOLVED
    return f"{text}: {change:.2f} [{low:.2f}..{high:.2f}]", verdict


def judge(windows):
    return [judge_memory(windows), judge_drift(windows, "p50", MAX_P50), judge_drift(windows, "p99", MAX_P99)]


def table(windows):
    """Lines of Markdown: the medians of each quarter."""
    lines = ["| quarter | anonymous MiB | wire to ring p50 us | p99 us | bare path p50 us | p99 us |",
             "|---|--:|--:|--:|--:|--:|"]
    for number, part in enumerate(quarters(windows), 1):
        if part:
            middle = [statistics.median(values) for values in zip(*map(dataclasses.astuple, part))]
            cells = [str(number), f"{middle[0] / MIB:.1f}", *(f"{nanos / 1e3:.1f}" for nanos in middle[1:])]
            lines.append(f"| {' | '.join(cells)} |")
    return lines
