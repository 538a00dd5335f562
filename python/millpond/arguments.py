"""Checks of arguments. Errors name the argument, what was found and the bound."""

from __future__ import annotations

import errno
import operator
import os
from collections.abc import Iterable

_MAX_SECONDS = 2**32  # of a wait: 136 years


def checked_path(path: str | os.PathLike[str]) -> str:
    """Raises ValueError for a name that the extension cannot open."""
    name = os.fsdecode(path)
    if not name:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if "\0" in name:
        raise ValueError(f"path: {name!r} has a character of code 0")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"path: {name!r} is not UTF-8; rename the file, or make a link to it") from None
    return name


def checked_text(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{name}: found {text!r}, must be a str")
    return text


def checked_list(name: str, values: Iterable[object], of: str) -> list[object]:
    """Raises TypeError for anything but a list; also for a string, whose characters are rarely meant."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name}: found the string {values!r}, must be a list of {of}")
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{name}: found {values!r}, must be a list of {of}") from None


def checked_symbols(symbols: Iterable[str] | None) -> list[str] | None:
    if symbols is None:
        return None
    checked: list[str] = []
    for symbol in checked_list("symbols", symbols, "symbols"):
        if not isinstance(symbol, str):
            raise TypeError(f"symbols: found {symbol!r}, must be a str")
        if not symbol.isascii():
            raise ValueError(f"symbols: found {symbol!r}, but symbols are ASCII")
        checked.append(str(symbol))
    return checked


def checked_int(name: str, value: int, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: found {value!r}, must be an int") from None
    if not least <= number <= most:
        raise ValueError(f"{name}: found {number}, must be {least} to {most}")
    return number


FULL_DEPTH = 2**32 - 1
"""The extension's number for the depth "full"."""


def checked_depth(depth: int | str, least: int, most: int) -> int:
    if isinstance(depth, str):
        if depth != "full":
            raise ValueError(f'depth: found {depth!r}, must be {least} to {most} or "full"')
        return FULL_DEPTH
    return checked_int("depth", depth, least, most)


def checked_rows(max_rows: int) -> int:
    return checked_int("max_rows", max_rows, 1, 2**32)


def nanos(name: str, seconds: float) -> int:
    try:
        valid = seconds >= 0
    except TypeError:
        raise TypeError(f"{name}: found {seconds!r}, must be a number of seconds") from None
    if not valid:
        raise ValueError(f"{name}: found {seconds}, must be at least 0")
    return int(min(seconds, _MAX_SECONDS) * 1e9)
