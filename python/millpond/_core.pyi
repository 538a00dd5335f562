from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

def describe_tables(mantissa: bool) -> list[tuple[str, Any]]: ...

def raise_interrupt() -> None: ...

class RingOpenError(Exception): ...

class Ring:
    def __init__(
        self,
        name: str,
        symbols: list[str] | None,
        mantissa: bool,
        silent_after_ns: int,
        visible_as: str,
        own: bool,
    ) -> None: ...
    def poll(self, max_rows: int, timeout_ns: int | None) -> tuple[list[Bytes], int, str, bool, bool]: ...
    def board(self) -> tuple[Bytes, Bytes]: ...
    def names(self, first: int) -> list[tuple[bytes, bytes]]: ...
    def account(self) -> Any: ...
    @property
    def writer_pid(self) -> int: ...
    @property
    def has_writer(self) -> bool: ...
    @property
    def epoch(self) -> int: ...
    @property
    def capacity(self) -> int: ...

class FileFormatError(Exception): ...

class OpenedScan:
    def read(self, max_rows: int) -> list[Bytes] | None: ...
    def names(self, first: int) -> list[tuple[bytes, bytes]]: ...
    def report(self) -> Any: ...

def file_kind(begin: bytes) -> str: ...
def look_at_capture(path: str) -> tuple[str, int | None]: ...
def open_scan(
    kind: str,
    path: str,
    name: str,
    format: str,
    only: str,
    symbols: list[str] | None,
    mantissa: bool,
    tables: int,
    start: int | None,
    end: int | None,
    midnight_utc_ns: int | None,
    bytes: int,
) -> OpenedScan: ...
def arrow_stream(scan: OpenedScan, table: int, max_rows: int) -> object: ...

class OpenedRows:
    def read(self, max_rows: int) -> Bytes | None: ...
    def names(self, first: int) -> list[tuple[bytes, bytes]]: ...
    def report(self) -> Any: ...

def open_itch_rows(
    kind: str,
    path: str,
    name: str,
    type: str,
    only: str,
    symbols: list[str] | None,
    mantissa: bool,
    start: int | None,
    end: int | None,
    midnight_utc_ns: int | None,
    bytes: int,
) -> OpenedRows: ...

class OpenedFixLog:
    def report(self) -> Any: ...

def open_fix_log(
    path: str,
    name: str,
    tags: list[tuple[int, str, bool]],
    types: list[str],
    type_names: dict[str, str],
) -> OpenedFixLog: ...
def fix_log_stream(log: OpenedFixLog, max_rows: int) -> object: ...
