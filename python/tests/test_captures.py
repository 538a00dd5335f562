"""Captures as they are found: fragments, tunnels and times of switches."""

from __future__ import annotations

import struct
from pathlib import Path

import millpond
import numpy as np
import pytest

from captures import HEADER, mold, record
from itch_file import add, framed

NOON = 12 * 3_600 * 10**9

SECOND = 1_580_400_000
"""The seconds of the captures' times."""
TRAILER = struct.pack(">4sBBI5sB", b"\1\2\3\4", 0, 47, SECOND + 1, b"\x80\0\0\0\0", 0)
"""A trailer of Nexus 3550: half a second after the next second."""


def quotes(count: int) -> list[bytes]:
    """Records of `count` datagrams, each with an order of AAPL."""
    return [record(i, mold(i, framed(add(1, NOON + i, i, "B", 100, "AAPL", 10_000)), 1)) for i in range(1, count + 1)]


def longer(packed: bytes, added: bytes) -> bytes:
    """A record whose frame has bytes after its packet."""
    *times, length, _ = struct.unpack_from("<IIII", packed)
    return struct.pack("<IIII", *times, length + len(added), length + len(added)) + packed[16:] + added


def test_the_trailer_of_a_switch_is_the_receive_time(tmp_path: Path) -> None:
    path = tmp_path / "switch.pcap"
    path.write_bytes(HEADER + b"".join(longer(each, TRAILER) for each in quotes(3)))
    switch = np.datetime64(SECOND * 10**9 + 1_500_000_000, "ns")
    assert (millpond.scan(path).quotes.to_numpy()["ts_recv"] == switch).all()
    assert (millpond.scan(path, timestamps="nexus3550").quotes.to_numpy()["ts_recv"] == switch).all()
    captured = millpond.scan(path, timestamps="capture")
    assert captured.quotes.to_numpy()["ts_recv"][2] == np.datetime64(SECOND * 10**9 + 3_000, "ns")
    with pytest.raises(millpond.DamagedFile, match="none of the first 3 packets has the time of metamako; found nexus"):
        millpond.scan(path, timestamps="metamako")
    with pytest.raises(ValueError, match="timestamps: found 'gps'"):
        millpond.scan(path, timestamps="gps")


def test_what_is_missing_is_an_error_by_name(tmp_path: Path) -> None:
    path = tmp_path / "found.pcap"
    first, second, third = quotes(3)
    fragment = bytearray(second)
    fragment[16 + 14 + 6] = 0x20  # more fragments
    length = struct.unpack_from(">H", fragment, 16 + 14 + 2)[0] - 20
    assert length % 8 != 0
    wccp = bytearray(third)
    wccp[16 + 14 + 9] = 47  # GRE
    wccp[16 + 14 + 20 : 16 + 14 + 24] = b"\x00\x00\x88\x3e"
    path.write_bytes(HEADER + first + bytes(fragment) + bytes(wccp))
    with pytest.warns(millpond.MillpondWarning, match="found.pcap"):
        scanned = millpond.scan(path)
        assert len(scanned.quotes.to_numpy()) == 1
    assert scanned.report.counts["frames_malformed"] == 1
    assert scanned.report.counts["tunnels"] == 1
    assert any("1 frames in tunnels that are not read" in error for error in scanned.report.errors)
