"""Iteration over live batches, plain and asynchronous."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .batch import Batch

if TYPE_CHECKING:
    import asyncio


class Batches:
    """`for batch in ...` and `async for batch in ...`. After a timeout the batch is empty."""

    def __init__(self, read: Callable[[], Batch]) -> None:
        self._read = read
        self._pending: asyncio.Future[Batch] | None = None

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Batch:
        return self._read()

    def __aiter__(self) -> Batches:
        return self

    async def __anext__(self) -> Batch:
        import asyncio  # takes as long as all else

        # A loop that is cancelled while it waits leaves the read running: the next one gets its batch.
        if self._pending is None:
            self._pending = asyncio.ensure_future(asyncio.to_thread(self._read))
        try:
            batch = await asyncio.shield(self._pending)
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._pending = None
            raise
        self._pending = None
        return batch
