"""Those who take what a gateway sends: a tcp client and a receiver of the udp sink's datagrams."""

import json
import re
import socket
import struct
import threading

from waiting import wait_for

MIB = 1024 * 1024
SEQUENCE_AT = 16  # include/millpond/feed/quotes_layout.hpp
COUNT_AT = 36


class TcpClient(threading.Thread):
    """Takes the lines of the tcp sink."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(0.5)
        self.answer = None
        self.stopping = False
        self.start()

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
            if rest or b'"type":"account"' in got:
                rest += got
                found = re.search(rb'\{"type":"account".*\}\n', rest)
                if found:
                    self.answer = json.loads(found.group())
                    rest = b""

    def account(self):
        """What the gateway says of this client."""
        self.answer = None
        self.socket.sendall(b'{"account":true}\n')
        wait_for(lambda: self.answer is not None, "the tcp client's account")
        return self.answer


class UdpReceiver(threading.Thread):
    """Counts the quotes of the udp sink and what its sequence numbers say is missing."""

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
            self.quotes += count
            self.next = sequence + count
