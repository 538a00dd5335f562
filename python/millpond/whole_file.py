"""Files and folders that get their names once they are whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator


@contextlib.contextmanager
def whole(path: str | os.PathLike[str]) -> Generator[str, None, None]:
    """A new file, which takes the name `path` on success and is removed otherwise. Until then its name is unique: of
    several writers of one path, the last one to finish wins. A link stays, and the file that it names is replaced.
    Raises OSError if something other than a file has the name.
    """
    place = os.path.realpath(os.fsdecode(path))
    _refuse_other_kind(path, place)
    part = _created(place, lambda name: os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)))
    try:
        yield part
        _refuse_other_kind(path, place)
        os.replace(part, place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


@contextlib.contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Generator[str, None, None]:
    """A new folder, which takes the name `path` on success and is removed otherwise. Raises FileExistsError if the name
    exists at the start or at the end.
    """
    place = os.path.realpath(os.fsdecode(path))
    error = FileExistsError(f"'{os.fsdecode(path)}' exists already; partitions need a new folder")
    if os.path.lexists(place):
        raise error
    part = _created(place, os.mkdir)
    try:
        yield part
        if os.path.lexists(place):
            raise error
        os.rename(part, place)  # refuses a folder that has appeared since, unless it is empty
    except BaseException:
        import shutil  # takes long to import, and is seldom needed

        shutil.rmtree(part)
        raise


def _refuse_other_kind(path: str | os.PathLike[str], place: str) -> None:
    if os.path.exists(place) and not os.path.isfile(place):
        raise OSError(f"'{os.fsdecode(path)}' is not a file, and is not replaced")


def _created(place: str, create: Callable[[str], None]) -> str:
    """Returns a path beside `place` at which `create` made a file or folder. Readers of Parquet folders skip it."""
    folder, name = os.path.split(place)
    while True:
        part = os.path.join(folder, f".{name[:48]}.{os.urandom(6).hex()}.part")
        try:
            create(part)
        except FileExistsError:
            continue
        return part
