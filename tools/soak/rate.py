"""The highest rate that a gateway with all its sinks sustains on this machine."""

import shutil
import time

import brokers
from gateway import Gateway
from waiting import Failed

STEP_SECONDS = 5
PROOF_SECONDS = 60
DRAIN_SECONDS = 2  # a sink that still has queued events then was falling behind
GROWTH_SECONDS = 0.1  # in seconds of quotes: the allowed growth of the queues in the second half of a step
SHARE = 0.5  # a machine may become nearly twice as slow within half an hour, and so may its brokers
FIRST, MAX = 2_000, 4_000_000


def highest(holds, first=FIRST, most=MAX):
    """The highest rate that `holds`, to an eighth, by doubling, then bisection; 0 if the first rate fails."""
    good, rate = 0, first
    while rate <= most and holds(rate):
        good, rate = rate, rate * 2
    bad = rate
    while good and bad - good > bad / 8:
        middle = (good + bad) // 2
        if holds(middle):
            good = middle
        else:
            bad = middle
    return good


def proven(holds, rate, first=FIRST):
    """The rate, or the highest one in steps of a quarter below it, that `holds` for long; 0 if none does."""
    while rate >= first and not holds(rate, PROOF_SECONDS):
        rate = rate * 3 // 4
    return rate if rate >= first else 0


def drains(gateway):
    deadline = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < deadline:
        if gateway.queued() == 0:
            return True
        time.sleep(0.1)
    return False


def holds_in(gateway, tried):
    """A function that tries a rate for this many seconds and records in `tried` whether everything was sent in time,
    nothing was lost, and no sink fell behind.
    """

    def holds(rate, seconds=STEP_SECONDS):
        lost, came = gateway.losses(), gateway.came()
        started = time.monotonic()
        sender = gateway.send(rate, seconds)
        time.sleep(seconds / 2)
        half = gateway.queued()
        sender.communicate()
        late = time.monotonic() - started - seconds
        grown = gateway.queued() - half
        drained = drains(gateway)
        gateway.settle()
        lost, came = gateway.losses() - lost, gateway.came() - came
        # A generator that is late or short says nothing about this rate.
        faults = [text for text, wrong in (("a sink was behind", not drained),
                                           ("a sink fell further behind", grown > rate * GROWTH_SECONDS),
                                           ("the generator was late", late >= 1),
                                           ("too few arrived", came < 0.98 * rate * seconds)) if wrong]
        good = lost == 0 and not faults
        tried.append(f"{rate:8} quotes/s for {seconds:2} s: {came / seconds:.0f} a second received, {lost} lost:  "
                     f"{'holds' if good else ', '.join(['too high', *faults])}")
        print("  " + tried[-1], flush=True)
        return good

    return holds


def find(program, folder):
    """SHARE of the highest rate that holds, or less until it holds for long, and a line for each rate tried."""
    print(f"searching for the highest rate in steps of {STEP_SECONDS} s, doubled until one is too high, then bisected; then "
          f"{PROOF_SECONDS} s at {SHARE:.0%} of it, reduced until it holds; about four minutes", flush=True)
    place = folder / "search"
    place.mkdir()
    beside = brokers.start(program, place)
    gateway, tried = None, []
    try:
        gateway = Gateway(program, place, beside)
        holds = holds_in(gateway, tried)
        best = highest(holds)
        rate = proven(holds, int(best * SHARE))
    finally:
        if gateway:
            gateway.stop()
        for broker in beside:
            broker.stop()
        shutil.rmtree(place, ignore_errors=True)
    if not rate:
        raise Failed(f"no rate of {FIRST} quotes/s or more holds for {PROOF_SECONDS} s; is the machine busy?")
    print(f"highest rate {best} quotes/s for {STEP_SECONDS} s; using {rate}", flush=True)
    return rate, tried
