"""Iteration over live batches, plain and asynchronous."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .background import Background, Reading
from .batch import Batch

if TYPE_CHECKING:
    import asyncio

_SLICE = 0.1  # seconds of waiting in a thread, which a cancelled task leaves behind

Read = Callable[["float | None"], Batch]
"""Accepts a timeout in seconds."""


class Batches:
    """`for batch in ...` and `async for batch in ...`. After a timeout the batch is empty.

    A task that is cancelled loses no rows: the reader's next batch has them, as many as the `max_rows` of the cancelled
    iteration allowed. One task or thread at a time.
    """

    def __init__(self, reads: Reads, read: Read, timeout: float | None) -> None:
        self._reads = reads
        self._read = read
        self._timeout = timeout

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Batch:
        return self._reads.next(self._read, self._timeout)

    def __aiter__(self) -> Batches:
        return self

    async def __anext__(self) -> Batch:
        return await self._reads.next_async(self._read, self._timeout)


class Reads:
    """The state that all iterations over a reader share."""

    def __init__(self) -> None:
        self._background = Background()
        self._newest: Reading | None = None  # its batch was not returned yet
        self._awaited = False
        self._writer = "alive"

    def next(self, read: Read, timeout: float | None) -> Batch:
        self._refuse_second()
        self.settle()
        reading, self._newest = self._newest, None
        if reading is not None:
            batch = reading.batch()
            if len(batch) or batch.missed:
                return batch
        return read(timeout)

    async def next_async(self, read: Read, timeout: float | None) -> Batch:
        self._refuse_second()
        until = None if timeout is None else time.monotonic() + timeout
        self._awaited = True
        try:
            while True:
                left = _SLICE if until is None else max(0.0, until - time.monotonic())
                batch = await self._read_in_thread(read, min(left, _SLICE))
                died = batch.writer == "dead" and self._writer != "dead"  # the death of the writer ends one wait only
                self._writer = batch.writer
                if len(batch) or batch.missed or died or (until is not None and time.monotonic() >= until):
                    return batch
        finally:
            self._awaited = False

    def settle(self) -> None:
        """Waits for the read that a cancelled task has left in the background thread."""
        if self._newest is not None and self._newest.process != os.getpid():
            self._newest = None  # the thread is in the parent process
        if self._newest is not None and not self._awaited:
            self._background.run(self._newest)  # an interrupt may have prevented the start
            self._newest.ended.wait()

    def _refuse_second(self) -> None:
        if self._awaited:
            raise RuntimeError("another task waits for this batch; open one reader for each task")

    async def _read_in_thread(self, read: Read, seconds: float) -> Batch:
        import asyncio  # imported here, because it takes as long as all other imports

        if self._newest is None or self._newest.process != os.getpid():
            self._newest = Reading(lambda: read(seconds))
        reading = self._newest
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        reading.on_end = lambda: _wake(loop, ended)
        self._background.run(reading)
        if reading.ended.is_set():
            reading.on_end()
        await ended
        self._newest = None
        return reading.batch()


def _wake(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    try:
        loop.call_soon_threadsafe(end)
    except RuntimeError:
        pass  # the loop is closed; the reader's next batch is this one
