"""The newest reading of a file, separately for each thread."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

_Reading = TypeVar("_Reading")


class Newest(Generic[_Reading]):
    """Any thread may call the methods."""

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self._of_all: _Reading | None = None

    def __reduce__(self) -> tuple[type[Newest[_Reading]], tuple[()]]:
        return Newest, ()  # a copy has no readings

    def set(self, reading: _Reading) -> None:
        """Makes this reading the newest one of this thread."""
        self._of_thread.reading = self._of_all = reading

    def get(self) -> _Reading | None:
        """Returns the newest reading of this thread, or of any thread if this one has none."""
        own: _Reading | None = getattr(self._of_thread, "reading", self._of_all)
        return own
