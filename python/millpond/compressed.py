"""Compressed files as a stream of bytes that the extension reads like a file."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable
from typing import BinaryIO

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20


def is_compressed(begin: bytes) -> bool:
    return begin.startswith((_GZIP, _ZSTD))


class CompressedFile:
    """Decompresses a .gz or .zst file into a pipe, on a thread.

    `path` names the end to read from. Call `opened` once it is open. A reader that wants no more closes it.
    """

    def __init__(self, path: str) -> None:
        self.name = path
        self.error = ""
        """Why the file's contents end early; empty when they do not."""
        self.offset = 0
        """Compressed bytes read so far."""
        self._file = open(path, "rb")
        begin = self._file.read(4)
        self._file.seek(0)
        self._expand = _gzip if begin.startswith(_GZIP) else _zstd()
        self._read, self._write = os.pipe()
        self.path = f"/proc/self/fd/{self._read}"
        self._thread = threading.Thread(target=self._run, name="millpond-decompress", daemon=True)
        self._thread.start()

    def opened(self) -> None:
        os.close(self._read)

    def join(self) -> None:
        """Waits until the thread has said how it ended. The pipe must be at its end or closed."""
        self._thread.join()

    def _run(self) -> None:
        with self._file, open(self._write, "wb", buffering=0) as pipe:
            try:
                self._expand(self._file, pipe.write, self._count)
            except BrokenPipeError:
                pass
            except Exception as error:  # the decompressors have exceptions of their own
                self.error = f"'{self.name}', near compressed byte {self.offset}: {error}"

    def _count(self, count: int) -> None:
        self.offset += count


Expand = Callable[[BinaryIO, Callable[[bytes], object], Callable[[int], None]], None]


def _put(write: Callable[[bytes], object], data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = write(view)  # type: ignore[arg-type]
        view = view[written if isinstance(written, int) else len(view) :]


def _gzip(file: BinaryIO, write: Callable[[bytes], object], count: Callable[[int], None]) -> None:
    expander = zlib.decompressobj(wbits=31)
    fresh = True
    while chunk := file.read(_CHUNK):
        count(len(chunk))
        while chunk:
            if fresh and not chunk.strip(b"\0"):
                chunk = b""  # padding behind the last member, as tape writers leave it
                break
            _put(write, expander.decompress(chunk, 4 * _CHUNK))
            fresh = False
            while expander.unconsumed_tail and not expander.eof:
                _put(write, expander.decompress(expander.unconsumed_tail, 4 * _CHUNK))
            chunk = b""
            if expander.eof:
                chunk, expander, fresh = expander.unused_data, zlib.decompressobj(wbits=31), True
    if not fresh:
        raise EOFError("the file ends within its compressed data")


def _zstd() -> Expand:
    try:
        import zstandard
    except ImportError:
        raise ImportError("a .zst file needs the package zstandard: pip install millpond[zstd]") from None

    def expand(file: BinaryIO, write: Callable[[bytes], object], count: Callable[[int], None]) -> None:
        expander = None
        while chunk := file.read(_CHUNK):
            count(len(chunk))
            while chunk:
                if expander is None:
                    expander = zstandard.ZstdDecompressor().decompressobj()
                _put(write, expander.decompress(chunk))
                chunk = b""
                if expander.eof:
                    chunk, expander = expander.unused_data, None
        if expander is not None:
            raise EOFError("the file ends within its compressed data")

    return expand
