"""A progress bar for long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Progress:
    """Shows the progress of a reader on standard error. show: None means on a terminal, if the work takes seconds."""

    def __init__(self, what: str, total: int, show: bool | None) -> None:
        self._what = what
        self._total = total
        self._show = sys.stderr.isatty() if show is None else show
        self._next = time.monotonic() + (2.0 if show is None else 0.0)
        self._shown = False

    def at(self, done: int) -> None:
        if not self._show or self._total <= 0 or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.2
        self._shown = True
        share = min(done / self._total, 1.0)
        bar = "#" * int(share * 40)
        print(f"\r{self._what} [{bar:<40}] {share:4.0%}", end="", file=sys.stderr, flush=True)

    @contextmanager
    def following(self, done: Callable[[], int]) -> Generator[None, None, None]:
        """Shows the progress from another thread, and at the end if it was asked for."""
        if not self._show:
            yield
            return
        import threading

        ended = threading.Event()

        def follow() -> None:
            while not ended.wait(0.2):
                self.at(done())

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.at(done())
            self.end()

    def end(self) -> None:
        if self._shown:
            print(file=sys.stderr)
            self._shown = False
