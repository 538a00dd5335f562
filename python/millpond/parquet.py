"""Parquet files, through pyarrow."""

# pyarrow has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from .interrupt import interruptible

if TYPE_CHECKING:
    from .fix import FixScan
    from .itch import ItchTable
    from .scan import Table


def write(table: Table | FixScan | ItchTable, path: str, partition_by: list[str] | None) -> None:
    """A single file is there once it is whole, or not at all."""
    try:
        import pyarrow
        import pyarrow.dataset
        import pyarrow.parquet
    except ImportError:
        raise ImportError("to_parquet needs pyarrow: pip install millpond[arrow]") from None
    reader = pyarrow.RecordBatchReader.from_stream(table)
    if partition_by is None:
        part = path + ".part"
        try:
            with interruptible(), pyarrow.parquet.ParquetWriter(part, reader.schema, compression="zstd") as file:
                for batch in reader:
                    file.write_batch(batch)
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
            raise
        return
    unknown = [column for column in partition_by if column not in reader.schema.names]
    if unknown:
        raise ValueError(f"partition_by: no column {unknown[0]!r}; there are {', '.join(reader.schema.names)}")
    # Names of folders are texts, not numbers of a dictionary.
    plain = pyarrow.schema(
        [
            field.with_type(field.type.value_type) if field.name in partition_by and _is_dictionary(field.type) else field
            for field in reader.schema
        ]
    )
    with interruptible():
        pyarrow.dataset.write_dataset(
            (batch.cast(plain) for batch in reader),
            path,
            schema=plain,
            format="parquet",
            partitioning=partition_by,
            partitioning_flavor="hive",
            max_partitions=65_536,
            existing_data_behavior="error",
        )


def _is_dictionary(kind: object) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_dictionary(kind))
