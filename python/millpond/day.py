"""The date at the exchange, from which the times of a file count."""

from __future__ import annotations

import datetime
import os
import re

import numpy as np

# NASDAQ's own names, such as 01302020.NASDAQ_ITCH50.gz and S013020-v50.txt.gz, then the usual ones.
_PATTERNS = (
    (re.compile(r"^(\d{2})(\d{2})(\d{4})\.[A-Z]+_ITCH\d*", re.I), ("month", "day", "year")),
    (re.compile(r"^S(\d{2})(\d{2})(\d{2})-v\d"), ("month", "day", "short")),
    (re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)"), ("year", "month", "day")),
    (re.compile(r"(?<!\d)(\d{2})(\d{2})(\d{4})(?!\d)"), ("month", "day", "year")),
)


def date_of(path: str) -> datetime.date | None:
    """The date in a file's name, or None."""
    name = os.path.basename(path)
    for pattern, parts in _PATTERNS:
        for found in pattern.finditer(name):
            numbers = dict(zip(parts, map(int, found.groups()), strict=True))
            year = numbers["year"] if "year" in numbers else 2000 + numbers["short"]
            try:
                date = datetime.date(year, numbers["month"], numbers["day"])
            except ValueError:
                continue
            if 1990 <= date.year < 2100:
                return date
    return None


def checked_date(date: datetime.date | np.datetime64 | str) -> datetime.date:
    if isinstance(date, str):
        try:
            return datetime.date.fromisoformat(date)
        except ValueError:
            raise ValueError(f"date: found {date!r}, must be a date like 2026-11-20") from None
    if isinstance(date, np.datetime64):
        date = date.astype("M8[D]").item()
    if date != date:  # NaT of pandas
        raise ValueError(f"date: found {date!r}, which is not a date")
    if isinstance(date, datetime.datetime):
        return date.date()
    if not isinstance(date, datetime.date):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"date: found {date!r}, must be a str or a datetime.date")
    return date


def date_at(utc_ns: int, timezone: str) -> datetime.date:
    """The date in that zone at that time."""
    return datetime.datetime.fromtimestamp(utc_ns // 10**9, _zone(timezone)).date()


def midnight_ns(date: datetime.date, timezone: str) -> int:
    """UTC nanoseconds of midnight in that zone."""
    if not 1678 <= date.year <= 2261:
        raise ValueError(f"date: found {date}, must be from 1678 to 2261")
    moment = datetime.datetime(date.year, date.month, date.day, tzinfo=_zone(timezone))
    return int(moment.timestamp()) * 1_000_000_000


def _zone(timezone: str) -> datetime.tzinfo:
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"timezone: {timezone!r} is unknown; the package tzdata provides time zones") from None
