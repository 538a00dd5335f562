"""Iteration over live batches, plain and asynchronous."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .batch import Batch

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_SLICE = 0.1  # seconds of waiting in a thread, which a cancelled task leaves behind


class Batches:
    """`for batch in ...` and `async for batch in ...`. After a timeout the batch is empty.

    A task that is cancelled loses no rows: the next batch has them. One task or thread at a time.
    """

    def __init__(self, read: Callable[[float | None], Batch], timeout: float | None) -> None:
        self._read = read
        self._timeout = timeout
        self._thread: ThreadPoolExecutor | None = None
        self._pending: Future[Batch] | None = None  # the read that a cancelled task has left
        self._awaited = False
        self._writer = "alive"

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Batch:
        pending, self._pending = self._pending, None
        if pending is not None and not pending.cancel():
            batch = pending.result()
            if len(batch) or batch.missed:
                return batch
        return self._read(self._timeout)

    def __aiter__(self) -> Batches:
        return self

    async def __anext__(self) -> Batch:
        if self._awaited:
            raise RuntimeError("another task waits for this batch; open one reader for each task")
        until = None if self._timeout is None else time.monotonic() + self._timeout
        self._awaited = True
        try:
            while True:
                left = _SLICE if until is None else max(0.0, until - time.monotonic())
                batch = await self._read_in_thread(min(left, _SLICE))
                died = batch.writer == "dead" and self._writer != "dead"  # ends a wait once
                self._writer = batch.writer
                if len(batch) or batch.missed or died or (until is not None and time.monotonic() >= until):
                    return batch
        finally:
            self._awaited = False

    async def _read_in_thread(self, seconds: float) -> Batch:
        import asyncio  # takes as long as all else
        from concurrent.futures import ThreadPoolExecutor

        if self._pending is None or self._pending.cancelled():
            self._thread = self._thread or ThreadPoolExecutor(1, "millpond")
            self._pending = self._thread.submit(self._read, seconds)
        try:
            batch = await asyncio.wrap_future(self._pending)
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._pending = None
            raise
        self._pending = None
        return batch
