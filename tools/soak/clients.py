"""Consumers of a gateway: a tcp client, a WebSocket client and a receiver of the udp sink's datagrams."""

import json
import socket
import struct
import threading

from waiting import Failed, wait_for

MIB = 1024 * 1024
# The quotes datagram: include/millpond/feed/quotes_layout.hpp.
SEQUENCE_AT = 16
COUNT_AT = 36
HEADER_BYTES = 40
ENTRY = struct.Struct("<BBHBBB41x")  # lengths of symbol and venue, flags, decimals, levels of the bids and of the asks
LEVEL_BYTES = 20
REPEATED = 64


class TcpClient(threading.Thread):
    """Reads the JSON lines of the tcp sink."""

    NAME = "tcp client"
    REQUEST = b'{"account":true}\n'
    MARK = b'{"type":"account"'

    def __init__(self, port):
        super().__init__(daemon=True)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.greet()
        self.socket.settimeout(0.5)
        self.answer = None
        self.stopping = False
        self.start()

    def greet(self):
        """The bytes before the JSON lines."""

    def run(self):
        rest = b""
        while not self.stopping:
            try:
                got = self.socket.recv(MIB)
            except TimeoutError:
                continue
            except OSError:
                return
            if not got:
                return
            rest += got
            at = rest.find(self.MARK)
            end = rest.find(b"\n", at)
            if at < 0 or end < 0:  # the answer is not complete
                rest = rest[at:] if at >= 0 else rest[-len(self.MARK):]
                continue
            self.answer = json.loads(rest[at:end])
            rest = rest[end:]

    def account(self):
        """The gateway's account of this client."""
        self.answer = None
        self.socket.sendall(self.REQUEST)
        wait_for(lambda: self.answer is not None, f"the {self.NAME}'s account")
        return self.answer


class WebClient(TcpClient):
    """Reads messages of the web sink's WebSocket, each with complete lines, between frame headers."""

    NAME = "web client"
    REQUEST = b"\x81" + bytes([0x80 | (len(TcpClient.REQUEST))]) + bytes(4) + TcpClient.REQUEST

    def greet(self):
        self.socket.sendall(b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        if not self.socket.recv(12).endswith(b" 101"):
            raise Failed("the web sink has no WebSocket")


class UdpReceiver(threading.Thread):
    """Counts the quotes of the udp sink, without those that it repeats for late receivers, and the missing sequence numbers."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * MIB)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.2)
        self.port = self.socket.getsockname()[1]
        self.quotes = self.missing = 0
        self.next = 1
        self.stopping = False
        self.start()

    def run(self):
        while not self.stopping:
            try:
                got = self.socket.recv(2048)
            except TimeoutError:
                continue
            count = struct.unpack_from("<H", got, COUNT_AT)[0]
            sequence = struct.unpack_from("<Q", got, SEQUENCE_AT)[0]
            self.missing += sequence - self.next
            self.quotes += sum(not flags & REPEATED for flags in entry_flags(got, count))
            self.next = sequence + count


def entry_flags(datagram, count):
    """Yields the flags of each entry of a quotes datagram."""
    at = HEADER_BYTES
    for _ in range(count):
        symbol_bytes, venue_bytes, flags, _decimals, bids, asks = ENTRY.unpack_from(datagram, at)
        yield flags
        at += ENTRY.size + symbol_bytes + venue_bytes + LEVEL_BYTES * (bids + asks)
