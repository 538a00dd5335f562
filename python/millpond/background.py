"""Reads in a thread, for asynchronous iterations.

An interrupt at any time leaves nothing that the interpreter's exit waits for: the thread is a daemon, and each step may
be repeated.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .batch import Batch


class Reading:
    """One read. Keeps its batch until `batch` is called."""

    def __init__(self, read: Callable[[], Batch]) -> None:
        self.process = os.getpid()
        self.ended = threading.Event()
        self.on_end: Callable[[], None] | None = None
        """Called by the thread after the read. Must not raise."""
        self._read: Callable[[], Batch] | None = read
        self._claimed = threading.Lock()
        self._batch: Batch | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Reads, unless another call is reading."""
        if not self._claimed.acquire(blocking=False):
            return
        read, self._read = self._read, None  # the read method holds a reference to this object
        _running.add(self)  # before the flag: then either the exit sees this reading, or this reading sees the exit
        try:
            if read is not None and not _exiting.is_set():
                self._batch = read()
        except BaseException as error:  # raised again by batch()
            self._error = error
        del read
        self.ended.set()
        _running.discard(self)
        if self.on_end is not None:
            self.on_end()

    def batch(self) -> Batch:
        """Returns the batch; call it once, after the read has ended. Raises the exception of the read."""
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback has this frame
        assert self._batch is not None
        return self._batch


_running: set[Reading] = set()
_exiting = threading.Event()


class Background:
    """A daemon thread for readings. It starts with the first one and ends with this object."""

    def __init__(self) -> None:
        self._process = 0  # id of the process that has the thread
        self._readings: SimpleQueue[Reading | None] = SimpleQueue()

    def run(self, reading: Reading) -> None:
        """May be called again for the same reading."""
        if self._process not in (0, os.getpid()):
            self._readings = SimpleQueue()  # a forked process does not have the thread
        self._readings.put(reading)
        if self._process != os.getpid():
            threading.Thread(target=_work, args=(self._readings,), name="millpond", daemon=True).start()
            self._process = os.getpid()

    def __del__(self) -> None:
        self._readings.put(None)


def _work(readings: SimpleQueue[Reading | None]) -> None:
    while (reading := readings.get()) is not None:
        reading.run()
        del reading
    readings.put(None)  # for a second thread, which an interrupted start may leave


@atexit.register
def _wait_for_readings() -> None:
    """At exit no thread may return from C++ to the interpreter."""
    _exiting.set()
    for reading in list(_running):
        while not reading.ended.is_set():
            try:
                reading.ended.wait()
            except KeyboardInterrupt:
                pass
