"""Times as UTC nanoseconds."""

from __future__ import annotations

import datetime
import operator
import re
from typing import Any

import numpy as np

Time = str | int | datetime.date | np.datetime64
_EPOCH = datetime.datetime(1970, 1, 1)
_FRACTION = re.compile(r"(\.\d{9})\d+$", re.ASCII)  # with more digits numpy's integers wrap
_OFFSET = re.compile(r"(.*[T ]\d\d.*?)([+-])(\d\d):?(\d\d)?", re.ASCII)
_FINER_THAN_NANOS = ("ps", "fs", "as")


def time_ns(name: str, time: Time) -> int:
    """Converts a time to UTC nanoseconds. Strings, dates and datetimes without a zone are UTC."""
    nanos = _nanos(name, time)
    if nanos is None or not -(2**63) < nanos < 2**63:
        raise ValueError(f"{name}: found {time!r}, must be from 1677-09-21 to 2262-04-11")
    return nanos


def _nanos(name: str, time: Any) -> int | None:
    """Returns None if the time does not fit 64 bits."""
    if isinstance(time, datetime.datetime):
        if time != time:  # NaT of pandas
            raise ValueError(f"{name}: found {time!r}, which is not a time")
        return _of_datetime(time)
    if isinstance(time, datetime.date):
        return (time - _EPOCH.date()).days * 86_400_000_000_000
    if isinstance(time, np.datetime64):
        return _of_numpy(name, time, time)
    if isinstance(time, str):
        text, offset_ns = time.removesuffix("Z"), 0
        if found := _OFFSET.fullmatch(time):
            text, sign, hours, minutes = found.groups()
            offset_ns = int(sign + "1") * (int(hours) * 60 + int(minutes or 0)) * 60_000_000_000
        try:
            moment = np.datetime64(_FRACTION.sub(r"\1", text))
        except ValueError:
            raise ValueError(f"{name}: found {time!r}, must be a time like 2026-11-20T14:30:00") from None
        nanos = _of_numpy(name, time, moment)
        return None if nanos is None else nanos - offset_ns
    try:
        return operator.index(time)
    except TypeError:
        raise TypeError(
            f"{name}: found {time!r}, must be a str, a datetime, a numpy.datetime64 or an int of nanoseconds"
        ) from None


def _of_datetime(time: datetime.datetime) -> int:
    """Converts a datetime, also a pandas Timestamp, which has nanoseconds."""
    plain = datetime.datetime(
        time.year, time.month, time.day, time.hour, time.minute, time.second, time.microsecond
    )
    since = plain - _EPOCH - (time.utcoffset() or datetime.timedelta())
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return micros * 1_000 + int(getattr(time, "nanosecond", 0))


def _of_numpy(name: str, given: Any, moment: Any) -> int | None:
    if np.isnat(moment):
        raise ValueError(f"{name}: found {given!r}, which is not a time")
    nanos = moment.astype("M8[ns]")
    # The conversion wraps.
    if np.datetime_data(moment.dtype)[0] not in _FINER_THAN_NANOS and nanos.astype(moment.dtype) != moment:
        return None
    return int(nanos.astype(np.int64))
