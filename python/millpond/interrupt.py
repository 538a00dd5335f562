"""Ctrl-C, and other exceptions, while another package reads an Arrow stream of this one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from . import _core


@contextmanager
def interruptible() -> Generator[None, None, None]:
    """Replaces the consumer's error by the exception of the signal handler, usually KeyboardInterrupt."""
    try:
        yield
    except Exception:
        _core.raise_interrupt()
        raise


@contextmanager
def original(raised: list[BaseException]) -> Generator[None, None, None]:
    """Replaces the consumer's error by what the stream has raised."""
    try:
        yield
    except Exception:
        if raised:
            raise raised[0] from None
        raise
