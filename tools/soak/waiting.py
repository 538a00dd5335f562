"""Waiting with a timeout and an error message."""

import time


class Failed(Exception):
    """The run cannot continue; the text is the reason."""


def wait_for(done, what, patience=60):
    deadline = time.monotonic() + patience
    while not done():
        if time.monotonic() > deadline:
            raise Failed(f"waited {patience} s for {what}")
        time.sleep(0.05)


def wait_while_it_falls(read, what, patience=60):
    """Waits until read() is 0, as long as it reaches a new minimum within `patience` seconds."""
    least = None
    deadline = time.monotonic() + patience
    while now := read():
        if least is None or now < least:
            least, deadline = now, time.monotonic() + patience
        if time.monotonic() > deadline:
            raise Failed(f"{what}: {now} left, not reduced for {patience} s")
        time.sleep(0.1)
