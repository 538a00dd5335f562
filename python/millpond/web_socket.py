"""The client side of a WebSocket, as needed for a gateway. Source: RFC 6455."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import struct
import time

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_MAX_FRAME_BYTES = 32 << 20
"""A book has up to 65,536 orders and 32,768 levels, each a line of up to 300 bytes."""


class ProtocolError(Exception):
    """The peer violates the WebSocket protocol."""


def limit(connection: socket.socket, until: float | None) -> None:
    """Limits the connection's next operation to this monotonic time. Raises TimeoutError if it is past."""
    left = None if until is None else until - time.monotonic()
    if left is not None and left <= 0:
        raise TimeoutError("timed out")
    connection.settimeout(left)


def upgrade(connection: socket.socket, host: str, path: str, token: str | None, until: float | None) -> bytes:
    """Opens a WebSocket until this monotonic time. Returns the bytes that followed the response."""
    key = base64.b64encode(os.urandom(16))
    head = [
        f"GET {path} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key.decode()}",
        "Sec-WebSocket-Version: 13",
    ]
    if token is not None:
        head.append(f"Authorization: Bearer {token}")
    connection.sendall("\r\n".join([*head, "", ""]).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        limit(connection, until)  # covers all reads together
        got = connection.recv(4096)
        if not got or len(answer) > 65_536:
            raise ProtocolError(f"no response to the WebSocket request: {answer[:200]!r}")
        answer += got
    top, _, rest = answer.partition(b"\r\n\r\n")
    lines = top.split(b"\r\n")
    if lines[0].split(b" ")[1:2] != [b"101"]:
        raise ProtocolError(f"the gateway replied {lines[0].decode(errors='replace')!r}")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
    if fields.get(b"sec-websocket-accept") != base64.b64encode(hashlib.sha1(key + _MAGIC).digest()):
        raise ProtocolError("the gateway's response does not match the request")
    return rest


def frame(kind: int, payload: bytes) -> bytes:
    """Makes a masked frame, as clients must send."""
    mask = os.urandom(4)
    size = len(payload)
    if size < 126:
        head = struct.pack(">BB", 0x80 | kind, 0x80 | size)
    else:
        head = struct.pack(">BBH", 0x80 | kind, 0x80 | 126, size)
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


def text_frame(text: bytes) -> bytes:
    return frame(_TEXT, text)


class Frames:
    """Extracts the text from frames of a gateway. `answers` must be sent."""

    def __init__(self) -> None:
        self._bytes = b""
        self.answers: list[bytes] = []
        self.closed = False

    def add(self, data: bytes) -> bytes:
        """The text of the complete frames. Raises ProtocolError."""
        self._bytes += data
        texts: list[bytes] = []
        at = 0
        while not self.closed and len(self._bytes) - at >= 2:
            first, second = self._bytes[at], self._bytes[at + 1]
            size, begin = second & 0x7F, at + 2
            if size >= 126:
                wide = 2 if size == 126 else 8
                if len(self._bytes) - begin < wide:
                    break
                size = int.from_bytes(self._bytes[begin : begin + wide], "big")
                begin += wide
            if size > _MAX_FRAME_BYTES or second & 0x80:
                raise ProtocolError(f"a frame of {size} bytes; at most {_MAX_FRAME_BYTES}, unmasked")
            if len(self._bytes) - begin < size:
                break
            payload = self._bytes[begin : begin + size]
            at = begin + size
            kind = first & 0x0F
            if kind == _PING:
                self.answers.append(frame(_PONG, payload))
            elif kind == _CLOSE:
                self.answers.append(frame(_CLOSE, payload[:2]))
                self.closed = True
            elif kind != _PONG:
                texts.append(payload)
        self._bytes = self._bytes[at:]
        return b"".join(texts)
