"""Live market data over TCP or a WebSocket, for machines that do not share the gateway's memory."""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from . import web_socket
from .arguments import checked_depth, checked_rows, checked_symbols, checked_text, nanos
from .batch import Batch, Rows, is_nanos
from .batches import Batches, Reads
from .errors import Disconnected
from .lines import BadLine, LineReader
from .names import Names, NameTable, note_origin

_CHUNK = 1 << 18
_MAX_LINE = 1 << 20
_MAX_WAIT = 86_400.0  # seconds: poll() accepts at most 24 days
_PORTS = {"tcp": 9100, "ws": 9465, "wss": 9465}


_numbers = itertools.count(1)


class Connection:
    """A connection to a gateway, made by `connect`. Yields the same batches as Ring; the first ones contain the board.

    JSON lines do not contain the channel and wire sequence number of a quote: `channel` is 65535 and `sequence` is 0.
    `number` is the event's number in the ring. A loss of the gateway itself is a batch of its own. One thread at a time, in the process that has connected.
    """

    def __init__(self, url: str, connection: socket.socket, reader: LineReader, web: bool, rest: bytes) -> None:
        self.url = url
        self.bad_lines = 0
        """Malformed lines."""
        self._socket = connection
        self._reader = reader
        self._frames = web_socket.Frames() if web else None
        self._lines: deque[bytes] = deque()
        self._part = b""
        self._ended = ""
        self._names = NameTable(lambda first: reader.names[first:], (f"connection {next(_numbers)} to {url!r}",))
        self._reads = Reads()
        self._opened_by = os.getpid()
        self._reading: dict[str, int] = {}  # "thread": the one that reads
        connection.setblocking(False)
        if rest:
            self._add(rest)

    def __repr__(self) -> str:
        return f"connect({self.url!r})"

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()
        self._ended = self._ended or "closed here"

    @property
    def symbols(self) -> Names:
        """Symbol of each instrument seen so far, by `instrument_id`."""
        return self._names.symbols()

    def symbols_of(self, rows: Rows) -> Names:
        """The symbol of each row."""
        return self._names.of(rows)

    def batches(self, max_rows: int = 65536, timeout: float | None = 0.1) -> Batches:
        """Like Ring.batches. Raises Disconnected with the reason after the last rows."""
        rows = checked_rows(max_rows)
        if timeout is not None:
            nanos("timeout", timeout)
        return Batches(self._reads, lambda seconds: self._read_alone(rows, seconds), timeout)

    def __iter__(self) -> Batches:
        return self.batches()

    def __aiter__(self) -> Batches:
        return self.batches()

    def _read_alone(self, max_rows: int, timeout: float | None) -> Batch:
        """Raises RuntimeError if another thread reads: each would get only some of the lines."""
        if os.getpid() != self._opened_by:
            raise Disconnected(f"{self.url}: opened by the parent process; connect in this one")
        me = threading.get_ident()
        if self._reading.setdefault("thread", me) != me:
            raise RuntimeError("in use by another thread; open one for each thread")
        try:
            batch = self._read(max_rows, timeout)
            note_origin(self._names.origin, *filter(len, batch.tables()))
            return batch
        finally:
            self._reading.clear()

    def _read(self, max_rows: int, timeout: float | None) -> Batch:
        until = None if timeout is None else time.monotonic() + timeout
        received = False
        while True:
            while self._lines and self._reader.count < max_rows and not self._reader.ended:
                try:
                    self._reader.add(self._lines.popleft())
                except BadLine:
                    self.bad_lines += 1
            if self._reader.goodbye:
                self._ended = self._reader.goodbye
            if self._reader.count >= max_rows or self._reader.ended or self._ended:
                break
            if received and until is not None and time.monotonic() >= until:
                break  # lines without rows may arrive all the time
            left = 0.0 if self._reader.count else None if until is None else max(0.0, until - time.monotonic())
            received = self._receive(left)
            if not received:
                break
        batch = self._reader.finish()
        if self._ended:
            if len(batch) == 0 and batch.missed == 0 and not self._lines:
                raise Disconnected(f"{self.url}: {self._ended}")
            batch.writer = "closed"
        return batch

    def _receive(self, timeout: float | None) -> bool:
        """Receives lines. Returns False if nothing arrived in time."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                data = self._socket.recv(_CHUNK)
            except (BlockingIOError, ssl.SSLWantReadError):
                left = None if until is None else max(0.0, until - time.monotonic())
                poller = select.poll()
                poller.register(self._socket, select.POLLIN)
                longest = None if left is None else min(left, _MAX_WAIT)
                if not poller.poll(None if longest is None else longest * 1000) and left == longest:
                    return False
                if left == 0.0:
                    until = time.monotonic()
                continue
            except OSError as error:
                self._ended = str(error)
                return True
            if not data:
                self._ended = "the connection ended"
                return True
            self._add(data)
            return True

    def _add(self, data: bytes) -> None:
        if self._frames is not None:
            try:
                data = self._frames.add(data)
            except web_socket.ProtocolError as error:
                self._ended = str(error)
            if self._frames.closed:
                self._ended = self._ended or "the gateway closed the WebSocket"
            for answer in self._frames.answers:
                try:
                    self._socket.sendall(answer)
                except OSError:
                    break  # the next receive gives the reason
            self._frames.answers.clear()
        *lines, self._part = (self._part + data).split(b"\n")
        self._lines.extend(line for line in lines if line)
        if len(self._part) > _MAX_LINE:
            self._ended = f"a line of more than {_MAX_LINE} bytes"


def _place_of(url: str) -> tuple[SplitResult, str, int]:
    """Splits the address into its host and port."""
    try:
        place = urlsplit(checked_text("url", url))
        if place.scheme in _PORTS and place.hostname:
            return place, place.hostname, place.port or _PORTS[place.scheme]
    except ValueError:  # the port or the IPv6 address is malformed
        pass
    raise ValueError(f"url: found {url!r}, must be tcp://HOST:PORT, ws://HOST:PORT or wss://HOST:PORT")


def _keep_alive(connection: socket.socket) -> None:
    """Sets keep-alive probes: a gateway whose machine has vanished is noticed after half a minute."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)


def connect(
    url: str,
    *,
    token: str | None = None,
    tls: bool | ssl.SSLContext = False,
    symbols: Iterable[str] | None = None,
    conflate: bool = False,
    prices: str = "float64",
    timeout: float | None = 10.0,
    depth: int | Literal["full"] = 0,
    orders: bool = False,
) -> Connection:
    """Connects to a gateway's tcp or web sink: "tcp://host:9100", "ws://host:9465" or "wss://host:9465".

    token: the token that the sink requires. tls: True verifies the gateway's certificate with the system's
    authorities; a context is used as given. conflate: if this reader is too slow, newer quotes replace older ones
    instead of being missed.
    depth: levels of a side whose changes are in `levels`, as an int up to 50 or "full". orders: changes of orders are
    in `orders`. Both need conflate=False, and a gateway whose feed sends them.
    timeout: seconds for connecting, including the handshakes of TLS and the WebSocket; None: the system's limit. Other
    arguments as in Ring. Raises OSError or Disconnected.
    """
    is_nanos(prices)
    place, host, port = _place_of(url)
    wanted = checked_symbols(symbols)
    if token is not None and not checked_text("token", token).isprintable():
        raise ValueError("token: has characters that are not printable")  # it is a secret
    if not isinstance(tls, (bool, ssl.SSLContext)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"tls: found {tls!r}, must be a bool or an ssl.SSLContext")
    if timeout is not None and nanos("timeout", timeout) == 0:
        raise ValueError(f"timeout: found {timeout}, must be more than 0")
    levels = checked_depth(depth, 0, 50)
    if conflate and (levels or orders):
        raise ValueError("depth, orders: need conflate=False")
    books: dict[str, object] = {"depth": depth} if levels else {}
    if orders:
        books["orders"] = True
    wait = None if timeout is None else min(timeout, _MAX_WAIT)
    until = None if wait is None else time.monotonic() + wait
    connection = socket.create_connection((host, port), wait)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _keep_alive(connection)
        if tls or place.scheme == "wss":
            web_socket.limit(connection, until)
            context = tls if isinstance(tls, ssl.SSLContext) else ssl.create_default_context()
            connection = context.wrap_socket(connection, server_hostname=host)
        web = place.scheme != "tcp"
        requests: list[dict[str, object]] = []
        if token is not None and not web:
            requests.append({"token": token})
        requests.append({"mode": "conflate" if conflate else "every"})
        if wanted is not None:
            # A request has at most 4,096 bytes; the first one replaces the subscription to everything.
            requests.extend({"subscribe": wanted[at : at + 64], **books} for at in range(0, len(wanted), 64))
            if not wanted:
                requests.append({"unsubscribe": ["*"]})
        elif books:
            requests.append({"subscribe": ["*"], **books})
        lines = [json.dumps(request).encode() for request in requests]
        web_socket.limit(connection, until)
        if web:
            path = place.path if place.path not in ("", "/") else "/ws"
            rest = web_socket.upgrade(connection, f"{host}:{port}", path, token, until)
            connection.sendall(b"".join(web_socket.text_frame(line) for line in lines))
        else:
            rest = b""
            connection.sendall(b"".join(line + b"\n" for line in lines))
        return Connection(url, connection, LineReader(prices, wanted), web, rest)
    except web_socket.ProtocolError as error:
        connection.close()
        raise Disconnected(f"{url}: {error}") from None
    except BaseException:
        connection.close()
        raise
