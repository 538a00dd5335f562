"""FIX messages of the engine's raw log, or of any text that contains them, as a table."""

# pyarrow has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from . import _core
from .arguments import checked_list, checked_path, checked_text
from .errors import DamagedFile, MillpondWarning
from .interrupt import interruptible
from .newest import Newest

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


@dataclass(slots=True)
class FixReport:
    """Results of a scan of a FIX log, up to the current position."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    """lines, bytes, messages, faulty stretches, masked messages, remarks of the log, and messages not wanted."""
    errors: list[str] = field(default_factory=list[str])
    """The first 100 lines that are not messages: file, line, byte and reason."""

    @property
    def ok(self) -> bool:
        return not self.errors and self.counts.get("remarks", 0) == 0


@dataclass(slots=True)
class Names:
    """Names of fields and messages, from a dictionary in QuickFIX's XML format."""

    tags: dict[str, int] = field(default_factory=dict[str, int])
    fields: dict[int, str] = field(default_factory=dict[int, str])
    messages: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Names:
        """Raises DamagedFile if the file is not a dictionary."""
        names = cls()
        try:
            root = ElementTree.parse(path).getroot()
            for each in root.iterfind("fields/field"):
                names.tags[each.attrib["name"]] = int(each.attrib["number"])
                names.fields[int(each.attrib["number"])] = each.attrib["name"]
            for each in root.iterfind("messages/message"):
                names.messages[each.attrib["msgtype"]] = each.attrib["name"]
        except (ElementTree.ParseError, KeyError, ValueError) as error:
            raise DamagedFile(f"'{os.fspath(path)}' is not a FIX dictionary: {error!r}") from None
        return names


class FixScan:
    """A FIX log that is read lazily. `scan` creates one."""

    def __init__(self, path: str, tags: list[tuple[int, str, bool]], types: list[str], messages: dict[str, str]) -> None:
        self.path = path
        self._tags, self._types, self._messages = tags, types, messages
        self._newest: Newest[_core.OpenedFixLog] = Newest()

    def __repr__(self) -> str:
        return f"fix.scan({self.path!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Copies, also in other processes, read the file from its begin."""
        return {**vars(self), "_newest": Newest()}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """One row per message, as a stream of Arrow record batches."""
        log = _core.open_fix_log(self.path, self._tags, self._types, self._messages)
        self._newest.set(log)
        return _core.fix_log_stream(log, 1 << 16)

    def to_arrow(self) -> pyarrow.Table:
        import pyarrow

        with interruptible():
            table = pyarrow.RecordBatchReader.from_stream(self).read_all()  # pyarrow.table imports pandas
        self._warn()
        return table

    def to_polars(self) -> polars.DataFrame:
        import polars

        with interruptible():
            frame = polars.DataFrame(self)
        self._warn()
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """Record batches of about 65,536 messages, in bounded memory."""
        import pyarrow

        with interruptible():
            yield from pyarrow.RecordBatchReader.from_stream(self)
        self._warn()

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        from .parquet import write

        write(self, checked_path(path), None)
        self._warn()

    @property
    def report(self) -> FixReport:
        """Results of the newest reading so far: of this thread, or of any if this one has not read."""
        if (log := self._newest.get()) is None:
            return FixReport()
        found: Any = log.report()
        return FixReport(dict(found["counts"]), list(found["errors"]))

    def _warn(self) -> None:
        report = self.report
        if not report.ok:
            first = report.errors[0] if report.errors else "the log says that it lost some"
            warnings.warn(
                f"{self.path}: {report.counts.get('faulty', 0)} byte ranges are not a message, "
                f"{report.counts.get('remarks', 0)} losses; {first}",
                MillpondWarning,
                stacklevel=3,
            )


def scan(
    path: str | os.PathLike[str],
    *,
    tags: Iterable[int | str] = (),
    groups: Iterable[int | str] = (),
    types: Iterable[str] = (),
    dictionary: str | os.PathLike[str] | None = None,
) -> FixScan:
    """A raw log of the engine, another log with FIX messages, or a captured stream, plain or as .gz or .zst.

    Columns: ts, direction ("in" or "out") and session, if the log has them; msg_type, seq_num, sending_time,
    masked (1: the log hides secrets of the message), line.

    tags: further columns with the first value of these tags, as text.
    groups: columns with a list of all values of these tags: fields of repeating groups.
    types: only messages of these MsgTypes.
    dictionary: a file in QuickFIX's XML format. Tags may then be given by name, columns are named by field, and
        `message` is the name of the type.

    Raises OSError, DamagedFile, and ValueError for an unknown tag.
    """
    names = Names() if dictionary is None else Names.load(dictionary)
    name = checked_path(path)
    if not Path(name).is_file():
        open(name, "rb").close()  # the system's own error
    columns = [(*each, False) for each in _columns("tags", tags, names)]
    columns += [(*each, True) for each in _columns("groups", groups, names)]
    chosen = [column for _, column, _ in columns]
    for column in chosen:
        if chosen.count(column) > 1:
            raise ValueError(f"tags, groups: found {column!r} twice, but columns have different names")
    wanted = [checked_text("types", kind) for kind in checked_list("types", types, "message types")]
    return FixScan(name, columns, wanted, names.messages)


def _columns(argument: str, tags: Iterable[int | str], names: Names) -> list[tuple[int, str]]:
    """Tags, each with the name of its column."""
    columns: list[tuple[int, str]] = []
    for tag in checked_list(argument, tags, "tags"):
        number = names.tags.get(tag) if isinstance(tag, str) else tag
        if isinstance(tag, str) and number is None and tag.isascii() and tag.isdecimal():
            number = int(tag)
        if not isinstance(number, int) or not 0 < number < 2**31:
            raise ValueError(f"{argument}: found {tag!r}, must be a tag's number, or a name that the dictionary has")
        columns.append((number, names.fields.get(number, str(number))))
    return columns
