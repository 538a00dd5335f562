"""Live data over TCP and WebSockets: the same rows as from the ring."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import multiprocessing
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import millpond
import numpy as np
import pytest
from conftest import Gateway
from hypothesis import given, settings
from hypothesis import strategies as st
from millpond.lines import BadLine, LineReader
from millpond.web_socket import Frames, ProtocolError


def certificate(folder: Path) -> tuple[Path, Path]:
    key, pem = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-keyout", key, "-out", pem, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return key, pem


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.parametrize("kind", ["tcp", "ws"])
def test_lines_and_the_ring_give_the_same_rows(
    program: str, ring_name: str, tmp_path: Path, kind: str, secured: bool
) -> None:
    more = ""
    arguments = {}
    if secured:
        key, pem = certificate(tmp_path)
        token = tmp_path / "token"
        token.write_text("very-secret-token\n")
        os.chmod(token, 0o600)
        more = f",token_file={token},tls_certificate={pem},tls_key={key}"
        arguments = {"token": "very-secret-token", "tls": ssl.create_default_context(cafile=str(pem))}
    sink = "--tcp" if kind == "tcp" else "--web"
    gateway = Gateway(program, ring_name, sink, "name=out,listen=127.0.0.1:0" + more)
    try:
        ring = millpond.Ring(ring_name)
        address = port_of(gateway, kind)
        connection = millpond.connect(f"{kind}://localhost:{address}", **arguments)
        port = gateway.feed_port
        subprocess.run(
            [program, "generate", "--to", f"127.0.0.1:{port}", "--count", "3000", "--rate", "10000", "--quiet"],
            stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        mine, theirs = [], []
        collect(ring.batches(timeout=2.0).__next__, theirs)
        collect(connection.batches(timeout=2.0).__next__, mine)
        got, expected = np.concatenate(mine), np.concatenate(theirs)
        assert len(expected) == 3000
        # The client may connect after quotes were put on the board.
        assert got["number"].tolist()[-1] == expected["number"].tolist()[-1]
        both = expected[np.isin(expected["number"], got["number"])]
        got = got[np.isin(got["number"], both["number"])]
        got = got[np.argsort(got["number"], kind="stable")]  # those from the board come in its order
        assert len(got) == len(both)
        late = expected[expected["number"] > got["number"][len(ring.symbols)]]  # after the board
        assert np.isin(late["number"], got["number"]).all() and len(late) > 0
        for column in ("ts_recv", "ts_event", "number", "bid_px_00", "ask_px_00", "bid_sz_00", "ask_sz_00", "flags"):
            np.testing.assert_array_equal(got[column], both[column])
        assert connection.symbols_of(got).tolist() == ring.symbols_of(both).tolist()
        few = millpond.connect(f"{kind}://localhost:{address}", symbols=[str(ring.symbols[3])], **arguments)
        standing = next(batch for batch in few.batches(timeout=2.0) if len(batch.quotes))
        assert set(few.symbols_of(standing.quotes)) == {ring.symbols[3]}
    finally:
        gateway.close()
    with pytest.raises(millpond.Disconnected):
        for _ in connection.batches(timeout=5.0):
            pass


def port_of(gateway: Gateway, kind: str) -> str:
    return gateway.port_in(f"{'tcp' if kind == 'tcp' else 'web'} sink 'out'")


def collect(read: Callable[[], millpond.Batch], into: list[millpond.batch.Rows]) -> None:
    while sum(map(len, into)) < 3000:
        batch = read()
        assert batch.missed == 0
        if len(batch) == 0:
            return
        into.append(batch.quotes)


@pytest.mark.parametrize("kind", ["tcp", "ws"])
def test_a_wrong_token_is_an_exception_with_the_reason(
    program: str, ring_name: str, tmp_path: Path, kind: str
) -> None:
    token = tmp_path / "token"
    token.write_text("very-secret-token\n")
    os.chmod(token, 0o600)
    sink = "--tcp" if kind == "tcp" else "--web"
    gateway = Gateway(program, ring_name, sink, f"name=out,listen=127.0.0.1:0,token_file={token}")
    try:
        with pytest.raises(millpond.Disconnected):
            connection = millpond.connect(f"{kind}://127.0.0.1:{port_of(gateway, kind)}", token="wrong")
            for _ in connection.batches(timeout=None):
                pass
    finally:
        gateway.close()


@pytest.mark.parametrize("kind", ["tcp", "ws"])
def test_a_second_thread_and_a_forked_process_are_refused_and_receive_no_lines(
    program: str, ring_name: str, kind: str
) -> None:
    gateway = Gateway(program, ring_name, "--tcp" if kind == "tcp" else "--web", "name=out,listen=127.0.0.1:0")
    try:
        connection = millpond.connect(f"{kind}://127.0.0.1:{port_of(gateway, kind)}")
        assert connection._socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)  # finds a machine that vanished

        def reads_in_child() -> None:
            with pytest.raises(millpond.Disconnected, match="opened by the parent process"):
                next(connection.batches(timeout=0))

        child = multiprocessing.get_context("fork").Process(target=reads_in_child)
        child.start()
        child.join()
        assert child.exitcode == 0
        waiting = threading.Thread(target=lambda: next(connection.batches(timeout=None)))
        waiting.start()
        while not connection._reading:
            time.sleep(0)
        with pytest.raises(RuntimeError, match="in use by another thread"):
            next(connection.batches(timeout=0))
        subprocess.run(
            [program, "generate", "--to", f"127.0.0.1:{gateway.feed_port}", "--count", "1", "--quiet"],
            stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        waiting.join()
    finally:
        gateway.close()


def test_a_connection_that_nothing_accepts_is_an_os_error() -> None:
    with pytest.raises(OSError):
        millpond.connect("tcp://127.0.0.1:1")
    with pytest.raises(ValueError, match="http"):
        millpond.connect("http://127.0.0.1:1")


def test_a_wait_may_be_longer_than_the_system_s_longest() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = millpond.connect(f"tcp://127.0.0.1:{server.getsockname()[1]}", timeout=1e300)
        server.accept()[0].close()
        with pytest.raises(millpond.Disconnected):
            for _ in connection.batches(timeout=1e300):
                pass


class Server:
    """Serves one client in its own thread. speak: gets the connection and an event that is set at the end of the test.
    """

    def __init__(self, speak: Callable[[socket.socket, threading.Event], None], pem: Path | None, key: Path) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._over = threading.Event()
        self._context = None if pem is None else ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if self._context is not None and pem is not None:
            self._context.load_cert_chain(pem, key)
        self._thread = threading.Thread(target=self._run, args=(speak,))
        self._thread.start()

    def _run(self, speak: Callable[[socket.socket, threading.Event], None]) -> None:
        connection, _ = self._listener.accept()
        with suppress(OSError):  # the client is gone
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            speak(connection, self._over)
        connection.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._listener.close()


def drip(connection: socket.socket, over: threading.Event, data: bytes) -> None:
    for each in data:
        connection.sendall(bytes([each]))
        if over.wait(0.005):
            return


def accepted(connection: socket.socket) -> bytes:
    """Reads the request of a WebSocket. Returns the response."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += connection.recv(4096)
    key = next(line for line in request.split(b"\r\n") if line.startswith(b"Sec-WebSocket-Key: ")).partition(b": ")[2]
    proof = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    return b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: " + proof + b"\r\n\r\n"


def text_frame(text: bytes) -> bytes:
    return bytes([0x81, 126]) + len(text).to_bytes(2, "big") + text


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.parametrize("kind", ["drips", "stops"])
def test_a_handshake_that_drips_or_stops_ends_at_the_timeout(tmp_path: Path, kind: str, secured: bool) -> None:
    def speak(connection: socket.socket, over: threading.Event) -> None:
        response = accepted(connection)
        if kind == "drips":
            drip(connection, over, b"HTTP/1.1 101 Switching Protocols\r\nX: " + b"x" * 1_000)
        else:
            connection.sendall(response[:-1])
            over.wait()

    key, pem = certificate(tmp_path)
    tls = ssl.create_default_context(cafile=str(pem)) if secured else False
    with Server(speak, pem if secured else None, key) as server, pytest.raises(TimeoutError):
        millpond.connect(f"ws://localhost:{server.port}", tls=tls, timeout=0.5)


@pytest.mark.parametrize("url", ["tcp", "ws"])
def test_a_tls_handshake_that_stops_ends_at_the_timeout(tmp_path: Path, url: str) -> None:
    with Server(lambda connection, over: over.wait() and None, None, tmp_path) as server, pytest.raises(TimeoutError):
        millpond.connect(f"{url}://localhost:{server.port}", tls=True, timeout=0.2)


@pytest.mark.parametrize("secured", [False, True])
def test_a_handshake_and_frames_that_drip_are_read(tmp_path: Path, secured: bool) -> None:
    def speak(connection: socket.socket, over: threading.Event) -> None:
        drip(connection, over, accepted(connection) + text_frame(LINES[0] + b"\n") + text_frame(LINES[1] + b"\n"))
        over.wait()

    key, pem = certificate(tmp_path)
    tls = ssl.create_default_context(cafile=str(pem)) if secured else False
    with Server(speak, pem if secured else None, key) as server:
        with millpond.connect(f"ws://localhost:{server.port}", tls=tls, timeout=60) as connection:
            rows = 0
            for batch in connection.batches(timeout=None):
                rows += len(batch)
                if rows == 2:
                    break
            assert connection.symbols.tolist() == ["A", "B"] and connection.bad_lines == 0


@pytest.mark.parametrize("kind", ["lines", "pings"])
def test_a_timeout_includes_lines_without_rows(tmp_path: Path, kind: str) -> None:
    def speak(connection: socket.socket, over: threading.Event) -> None:
        if kind == "pings":
            connection.sendall(accepted(connection))
        data = b"x\n" * 10_000 if kind == "lines" else bytes([0x8A, 0]) * 10_000
        for _ in range(2_000):
            if over.is_set():
                return
            connection.sendall(data)

    with Server(speak, None, tmp_path) as server:
        scheme = "tcp" if kind == "lines" else "ws"
        with millpond.connect(f"{scheme}://localhost:{server.port}") as connection:
            assert len(next(connection.batches(timeout=0.05))) == 0


LINES = [
    b'{"type":"quote","symbol":"A","timestamp":5,"exchange_timestamp":0,"sequence":1,"bid":{"price":-0.0100,"shares":3},'
    b'"ask":{"price":null,"shares":0},"spread":null,"incomplete":true,"halted":true,"firm":false}',
    b'{"type":"trade","symbol":"B","timestamp":6,"exchange_timestamp":4,"sequence":2,"price":9223372036.854775806,'
    b'"shares":18446744073709551615,"trade_id":9}',
    b'{"type":"trade_break","symbol":"B","timestamp":6,"exchange_timestamp":4,"sequence":3,"trade_id":9}',
    b'{"type":"status","symbol":null,"channel":1,"timestamp":7,"exchange_timestamp":0,"sequence":4,"state":"halted","reason":"T1"}',
    b'{"type":"gap","channel":1,"timestamp":8,"sequence":5,"first":10,"last":12,"reason":"silence"}',
    b'{"type":"clear","symbol":null,"channel":1,"timestamp":9,"sequence":6,"reason":"end_of_session"}',
    b'{"type":"missed","count":7,"first":7,"last":13}',
    b'{"type":"something_later","x":1}',
]


@pytest.mark.parametrize(
    ("symbols", "depth", "orders", "request_line"),
    [
        (None, 10, True, b'{"subscribe": ["*"], "depth": 10, "orders": true}\n'),
        (["AAPL"], "full", False, b'{"subscribe": ["AAPL"], "depth": "full"}\n'),
        (["AAPL"], 0, False, b'{"subscribe": ["AAPL"]}\n'),
    ],
)
def test_subscriptions_ask_for_levels_and_orders(
    tmp_path: Path, symbols: list[str] | None, depth: Any, orders: bool, request_line: bytes
) -> None:
    requests = b""

    def speak(connection: socket.socket, over: threading.Event) -> None:
        nonlocal requests
        while requests.count(b"\n") < 2:
            requests += connection.recv(4096)
        connection.sendall(b'{"type":"bye","text":"enough"}\n')

    with Server(speak, None, tmp_path) as server:
        with millpond.connect(f"tcp://127.0.0.1:{server.port}", symbols=symbols, depth=depth, orders=orders) as connection:
            with pytest.raises(millpond.Disconnected, match="enough"):
                for _ in connection.batches(timeout=None):
                    pass
    assert requests.splitlines(keepends=True)[1] == request_line


def test_levels_and_orders_need_every_event() -> None:
    for books in ({"depth": 1}, {"orders": True}):
        with pytest.raises(ValueError, match="conflate"):
            millpond.connect("tcp://127.0.0.1:1", conflate=True, **books)  # type: ignore[arg-type]
    for depth in (-1, 51, "all"):
        with pytest.raises(ValueError, match="depth"):
            millpond.connect("tcp://127.0.0.1:1", depth=depth)  # type: ignore[arg-type]


def test_every_kind_of_line_becomes_its_row() -> None:
    reader = LineReader("nanos")
    for line in LINES:
        reader.add(line)
    batch = reader.finish()
    assert batch.quotes[["bid_px_00_nanos", "ask_px_00_nanos", "flags"]].tolist() == [(-10_000_000, millpond.UNDEF_PRICE, 7)]
    assert batch.trades[["price_nanos", "size", "trade_id"]].tolist() == [(2**63 - 2, 2**63 - 1, 9)]
    assert batch.breaks["trade_id"].tolist() == [9]
    assert batch.statuses[["state", "reason", "channel"]].tolist() == [(millpond.TradingState.HALTED, b"T1", 1)]
    assert batch.gaps[["first", "last", "reason"]].tolist() == [(10, 12, millpond.GapReason.SILENCE)]
    assert batch.clears["instrument_id"].tolist() == [millpond.NO_INSTRUMENT]
    assert batch.missed == len(batch.lost) == 0
    batch = reader.finish()
    assert batch.missed == 7 and batch.lost[["first", "last"]].tolist() == [(7, 13)]
    assert len(batch) == 1 and not reader.ended


@pytest.mark.parametrize(
    ("text", "nanos"),
    [("189.24", 189_240_000_000), ("189", 189_000_000_000), ("-0.000000001", -1), ("1.0000000000", 1_000_000_000)],
)
def test_a_price_is_read_exactly_however_many_decimals_it_has(text: str, nanos: int) -> None:
    reader = LineReader("nanos")
    reader.add(LINES[1].replace(b"9223372036.854775806", text.encode()))
    assert reader.finish().trades["price_nanos"].tolist() == [nanos]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.0000000001", "has more than 9 decimals"),
        ("9223372036.854775807", "is not in -9223372036.854775806..9223372036.854775806"),
        ("9223372037", "is not in -9223372036.854775806..9223372036.854775806"),
        ("1.5e3", "is not a decimal number"),
    ],
)
def test_a_price_that_is_none_is_refused_for_its_reason(text: str, problem: str) -> None:
    with pytest.raises(BadLine, match=re.escape(f"price '{text}' {problem}")):
        LineReader("float64").add(LINES[1].replace(b"9223372036.854775806", text.encode()))


@settings(deadline=None)
@given(st.sampled_from(LINES), st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=5))
def test_a_damaged_line_is_a_row_or_a_bad_line(line: bytes, changes: list[tuple[int, int]]) -> None:
    data = bytearray(line)
    for at, value in changes:
        data[at % len(data)] = value
    reader = LineReader("float64")
    try:
        reader.add(bytes(data))
    except BadLine:
        pass
    reader.finish()


WRONG = [None, True, -1, 2**16, 2**32, 2**63, 2**64, 1.5, float("nan"), "x", "\ud800", "x" * 100, [], {}]


@pytest.mark.parametrize("prices", ["float64", "nanos"])
@pytest.mark.parametrize("line", LINES, ids=[json.loads(line)["type"] for line in LINES])
def test_a_line_with_a_wrong_value_does_not_affect_others(line: bytes, prices: str) -> None:
    event = json.loads(line)
    for key in event:
        for value in WRONG:
            reader = LineReader(prices)
            try:
                reader.add(json.dumps({**event, key: value}).encode())
            except BadLine:
                pass
            reader.add(json.dumps({**json.loads(LINES[2]), "symbol": "GOOD"}).encode())
            batch = reader.finish()
            last = batch.breaks[-1]
            assert (last["trade_id"], reader.names[last["instrument_id"]]) == (9, (b"", b"GOOD")), (key, value)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_crash_the_frame_parser(pieces: list[bytes]) -> None:
    frames = Frames()
    try:
        for piece in pieces:
            frames.add(piece)
    except ProtocolError:
        pass
