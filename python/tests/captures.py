"""Captures made by hand."""

from __future__ import annotations

import struct

HEADER = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
"""The header of a pcap file with microseconds and Ethernet frames."""


def record(number: int, payload: bytes, port: int = 26400) -> bytes:
    """A datagram, received `number` microseconds after 2020-01-30 16:00 UTC."""
    udp = struct.pack(">HHHH", 1000, port, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 9, 17, 0, b"\x0a\0\0\1", b"\xe0\0\0\1") + udp
    frame = bytes(12) + b"\x08\x00" + ip
    return struct.pack("<IIII", 1_580_400_000, number, len(frame), len(frame)) + frame


def mold(sequence: int, messages: bytes, count: int, session: bytes = b"0000000001") -> bytes:
    """A MoldUDP64 datagram with messages, each after its length."""
    return session + struct.pack(">QH", sequence, count) + messages
