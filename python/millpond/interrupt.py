"""Ctrl-C while another package reads an Arrow stream of ours."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from . import _core


@contextmanager
def interruptible() -> Generator[None, None, None]:
    """The consumer's error becomes what the signal handler raised, KeyboardInterrupt as a rule."""
    try:
        yield
    except Exception:
        _core.raise_interrupt()
        raise
