"""Names of files."""

from __future__ import annotations

import os


def checked_path(path: str | os.PathLike[str]) -> str:
    """Raises ValueError for a name that the extension cannot open."""
    name = os.fspath(path)
    if "\0" in name:
        raise ValueError(f"path: {name!r} has a character of code 0")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"path: {name!r} is not UTF-8; rename the file, or make a link to it") from None
    return name
