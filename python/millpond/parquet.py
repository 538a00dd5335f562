"""Parquet files, through pyarrow."""

# pyarrow has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import collections
import contextlib
import urllib.parse
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .arguments import checked_list, checked_text
from .interrupt import interruptible
from .whole_file import whole, whole_folder

if TYPE_CHECKING:
    from .tables import ArrowTable, Readable

_Item = TypeVar("_Item")
_MAX_PARTITIONS = 65_536
_MAX_WAITING = 1 << 18  # rows of partitioned output in memory
_MAX_OPEN = 64  # files of partitioned output
_MAX_GROUPS = 64  # row groups of such a file: Parquet keeps metadata of each until the file is closed
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def write_tables(scan: Readable, paths: dict[str, str]) -> None:
    """Writes each table to its file, in one reading, in bounded memory. A file appears only when it is complete.
    """
    pyarrow = _pyarrow()
    with contextlib.ExitStack() as stack:
        places = {table: stack.enter_context(whole(path)) for table, path in paths.items()}
        files: dict[str, Any] = {}
        # While one thread writes rows, another reads the next ones.
        for parts in stack.enter_context(_read_ahead(scan._parts(paths, 1 << 17))):
            for table, part in parts:
                rows = pyarrow.RecordBatchReader.from_stream(part).read_all()
                if table not in files:
                    files[table] = stack.enter_context(_writer(places[table], rows.schema))
                if len(rows):
                    files[table].write(rows)


def write(table: ArrowTable, path: str, partition_by: str | Iterable[str] | None) -> None:
    """Writes a file, or a folder of partitions, which appears only when it is complete."""
    pyarrow = _pyarrow()
    columns = _partition_columns(partition_by)
    reader = pyarrow.RecordBatchReader.from_stream(table)
    unknown = [column for column in columns if column not in reader.schema.names]
    if unknown:
        raise ValueError(f"partition_by: no column {unknown[0]!r}; there are {', '.join(reader.schema.names)}")
    with whole_folder(path) if columns else whole(path) as part, interruptible():
        if columns:
            _write_partitions(reader, Path(part), columns)
        else:
            with _writer(part, reader.schema) as file:
                for batch in reader:
                    file.write_batch(batch)


def _partition_columns(partition_by: str | Iterable[str] | None) -> list[str]:
    """Names of columns, none of them twice; empty if there are no partitions."""
    if partition_by is None or isinstance(partition_by, str):
        return [partition_by] if partition_by else []
    columns = [checked_text("partition_by", column) for column in checked_list("partition_by", partition_by, "columns")]
    for column in columns:
        if columns.count(column) > 1:
            raise ValueError(f"partition_by: found {column!r} twice")
    return columns


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError("to_parquet needs pyarrow: pip install millpond[arrow]") from None
    return pyarrow


@contextlib.contextmanager
def _read_ahead(items: Iterator[_Item]) -> Generator[Iterator[_Item], None, None]:
    """Yields the same items; a thread produces the next one meanwhile."""
    with ThreadPoolExecutor(1) as thread:

        def all_items() -> Iterator[_Item]:
            coming = thread.submit(next, items, None)
            while (item := coming.result()) is not None:
                coming = thread.submit(next, items, None)
                yield item

        yield all_items()


def _writer(path: str | Path, schema: Any) -> Any:
    """Stores integers and times by their differences, texts by a dictionary, and others plainly: pyarrow would try a
    dictionary for each column, which costs half of the time and makes files larger.
    """
    import pyarrow.parquet

    differences = [field.name for field in schema if _is_long(field.type)]
    texts: Any = [field.name for field in schema if not pyarrow.types.is_primitive(field.type)]
    return pyarrow.parquet.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=texts,
        column_encoding=dict.fromkeys(differences, "DELTA_BINARY_PACKED"),
    )


def _is_long(kind: Any) -> bool:
    """True for times and integers of 64 bits."""
    import pyarrow

    return bool(pyarrow.types.is_timestamp(kind) or (pyarrow.types.is_integer(kind) and kind.bit_width == 64))


def _write_partitions(reader: Any, folder: Path, columns: list[str]) -> None:
    """Rows wait until there are _MAX_WAITING; then the partitions with the most of them get a row group each, until
    half of the rows are written. So row groups are large, and memory does not grow with rows or partitions.
    """
    import numpy as np
    import pyarrow

    schema = pyarrow.schema([_without_dictionary(field, columns) for field in reader.schema])
    files = _Files(folder, schema, columns)
    waiting = schema.empty_table()

    def write_largest(rows: int) -> Any:
        """Writes at least this many rows, in complete partitions; returns the others, sorted by partition."""
        ordered = waiting.unify_dictionaries().sort_by([(column, "ascending") for column in columns])
        begins = _begins(ordered.select(columns))
        sizes = np.diff([*begins, len(ordered)])
        largest = np.argsort(-sizes, kind="stable")
        enough = int(np.searchsorted(np.cumsum(sizes[largest]), rows)) + 1
        left = np.ones(len(ordered), bool)
        for which in sorted(largest[:enough].tolist()):
            begin, size = int(begins[which]), int(sizes[which])
            files.write(ordered.slice(begin, size))
            left[begin : begin + size] = False
        return ordered.filter(pyarrow.array(left)).combine_chunks()

    try:
        for batch in reader:
            waiting = pyarrow.concat_tables([waiting, pyarrow.table(batch).cast(schema)])
            if len(waiting) >= _MAX_WAITING:
                waiting = write_largest(_MAX_WAITING // 2)
                pyarrow.default_memory_pool().release_unused()
        if len(waiting):
            write_largest(len(waiting))
    finally:
        files.close()


def _begins(keys: Any) -> Any:
    """Indices of rows that differ from the previous row."""
    import numpy as np

    differs = np.zeros(max(len(keys) - 1, 0), bool)
    for column in keys.columns:
        codes = column.combine_chunks().dictionary_encode("encode").indices.to_numpy(zero_copy_only=False)
        differs |= codes[1:] != codes[:-1]
    return np.r_[0, np.flatnonzero(differs) + 1]


class _Files:
    """The files of partitions, some of which are open. A partition whose file was closed gets a new one.

    The columns of the partitions are also in the files. Folders are not named COLUMN=VALUE: pyarrow would take the
    types of columns from such names, in which 0005 is a number, and refuse files that have the same columns as text.
    """

    def __init__(self, folder: Path, schema: Any, columns: list[str]) -> None:
        self._folder, self._schema, self._columns = folder, schema, columns
        self._open: collections.OrderedDict[str, tuple[Any, int]] = collections.OrderedDict()
        self._numbers: dict[str, int] = {}

    def write(self, rows: Any) -> None:
        """Rows of one partition, as a row group."""
        name = "/".join(f"{column}-{_text(rows.column(column)[0].as_py())}" for column in self._columns)
        file, groups = self._open.pop(name, (None, 0))
        if file is None:
            if len(self._open) == _MAX_OPEN:
                self._open.popitem(last=False)[1][0].close()
            number = self._numbers.get(name, 0)
            if number == 0 and len(self._numbers) == _MAX_PARTITIONS:
                raise ValueError(f"partition_by: more than {_MAX_PARTITIONS} partitions")
            self._numbers[name] = number + 1
            (self._folder / name).mkdir(parents=True, exist_ok=True)
            place = self._folder / name / f"part-{number}.parquet"
            file = _writer(place, self._schema)
        file.write_table(rows)
        if groups + 1 == _MAX_GROUPS:
            file.close()
        else:
            self._open[name] = (file, groups + 1)

    def close(self) -> None:
        for file, _ in self._open.values():
            file.close()


def _text(value: object) -> str:
    return _NO_VALUE if value is None else urllib.parse.quote(str(value), safe=" ")


def _without_dictionary(field: Any, columns: list[str]) -> Any:
    """Folder names are strings, not dictionary indices."""
    import pyarrow

    plain = field.name in columns and pyarrow.types.is_dictionary(field.type)
    return field.with_type(field.type.value_type) if plain else field
