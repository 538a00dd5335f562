"""Ctrl-C at many moments of a call."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable

STEPS = 30


def ended_by_interrupts(call: Callable[[], object], expected: tuple[type[BaseException], ...]) -> int:
    """Interrupts each of `STEPS` calls at a later moment. Returns the number of calls that the interrupt ended. Fails
    if an interrupt during a call is lost, or ends the call with an unexpected exception.
    """
    fired: list[bool] = []

    def interrupt(*_: object) -> None:
        fired.append(True)
        raise KeyboardInterrupt

    call()
    begin = time.monotonic()
    call()
    took = time.monotonic() - begin
    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # Python ignores exceptions in callbacks of the collector, such as those of hypothesis
    ended = 0
    try:
        for step in range(STEPS):
            fired.clear()
            try:
                signal.setitimer(signal.ITIMER_REAL, took * (step + 1) / (STEPS + 10))
                try:
                    call()
                    assert not fired
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except expected:
                assert fired
                ended += 1
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, before)
    return ended
