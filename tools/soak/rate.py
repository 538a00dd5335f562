"""The highest rate that a gateway with all its sinks sustains on this machine."""

import shutil
import time

import brokers
from gateway import Gateway
from waiting import Failed

STEP_SECONDS = 5
DRAIN_SECONDS = 2  # a sink that still has something then was falling behind
SHARE = 0.5  # a machine may get nearly twice as slow in half an hour, and its brokers with it
FIRST, MOST = 2_000, 4_000_000


def highest(holds, first=FIRST, most=MOST):
    """The highest rate that `holds`, to an eighth: doubling, then bisection. 0 when the first one does not."""
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


def drains(gateway):
    deadline = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < deadline:
        if gateway.queued() == 0:
            return True
        time.sleep(0.1)
    return False


def holds_in(gateway, tried):
    """A function that tries a rate and notes it in `tried`: whether all was sent in time, nothing was lost, and no sink
    fell behind."""

    def holds(rate):
        lost, came = gateway.losses(), gateway.came()
        begun = time.monotonic()
        gateway.send(rate, STEP_SECONDS).communicate()
        late = time.monotonic() - begun - STEP_SECONDS
        drained = drains(gateway)
        gateway.settle()
        lost, came = gateway.losses() - lost, gateway.came() - came
        # A generator that is late or short proves nothing about this rate.
        faults = [text for text, wrong in (("a sink was behind", not drained),
                                           ("the generator was late", late >= 1),
                                           ("too few came", came < 0.98 * rate * STEP_SECONDS)) if wrong]
        good = lost == 0 and not faults
        tried.append(f"{rate:8} quotes/s: {came / STEP_SECONDS:.0f} a second came, {lost} lost: "
                     f"{'holds' if good else ', '.join(['too much', *faults])}")
        print("  " + tried[-1], flush=True)
        return good

    return holds


def find(program, folder):
    """SHARE of the highest rate that holds, and a line for each that was tried."""
    print(f"looks for the highest rate: steps of {STEP_SECONDS} s, doubled until one is too much, then bisected; about "
          "two minutes", flush=True)
    place = folder / "search"
    place.mkdir()
    beside = brokers.start(program, place)
    gateway, tried = None, []
    try:
        gateway = Gateway(program, place, beside)
        rate = highest(holds_in(gateway, tried))
    finally:
        if gateway:
            gateway.stop()
        for broker in beside:
            broker.stop()
        shutil.rmtree(place, ignore_errors=True)
    if not rate:
        raise Failed(f"{FIRST} quotes/s are too much already: is the machine busy?")
    print(f"highest rate {rate} quotes/s; {SHARE:.0%} of it are taken", flush=True)
    return int(rate * SHARE), tried
