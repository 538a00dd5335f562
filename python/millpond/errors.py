"""Exceptions of the package. All derive from MillpondError."""

from __future__ import annotations


class MillpondError(Exception):
    """Base class of the package's exceptions."""


class RingError(MillpondError):
    """A ring could not be opened or read. `reason` is not_found, not_ready, foreign, other_layout or memory."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason

    def __reduce__(self) -> tuple[type[RingError], tuple[str, str]]:
        return type(self), (str(self), self.reason)


class RingClosed(RingError):
    """The writer closed the ring, and all its rows were delivered. Open the name again for a new one."""


class RingSuperseded(RingError):
    """Another ring took the name, and all rows of this one were delivered. Open the name again."""


class RingRestarted(RingError):
    """A new writer continued this ring; earlier quotes are void. Iterate again to continue."""


class Disconnected(MillpondError):
    """The gateway or the network ended the connection, and all rows before that were delivered."""


class DamagedFile(MillpondError):
    """A file has another format, or ends early. The text has the file, the offset and the bound."""


class MillpondWarning(UserWarning):
    """A scan found damaged or lost data. `Scan.report` has the details."""
