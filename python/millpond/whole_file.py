"""Files that are there once they are whole, or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator


@contextlib.contextmanager
def whole(path: str | os.PathLike[str]) -> Generator[str, None, None]:
    """A temporary path for a file or folder, which is renamed on success and removed otherwise. A link stays, and the
    file that it names is written. Raises OSError if something other than a file has the name.
    """
    place = os.path.realpath(os.fsdecode(path))
    if os.path.exists(place) and not os.path.isfile(place):
        raise OSError(f"'{os.fsdecode(path)}' is not a file, and is not replaced")
    part = place + ".part"
    try:
        yield part
        os.replace(part, place)
    except BaseException:
        import shutil  # takes long to import, and is seldom needed

        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(part) if os.path.isdir(part) else os.unlink(part)
        raise
