"""No bytes crash a scan, and each outcome is an exception of ours or rows and a report."""

from __future__ import annotations

import gzip
import tempfile
import warnings
from pathlib import Path

import millpond
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from itch_file import made_up_day

DAY, _ = made_up_day(300, 3)
GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
SEGMENT = gzip.decompress((GOLDEN / "journal_v3.mpj.gz").read_bytes())
PCAP = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")


def read_all(path: Path, form: str | None) -> None:
    try:
        scan = millpond.scan(path, format=form)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", millpond.MillpondWarning)
            rows = sum(len(batch) for batch in scan.batches(50))
            assert rows >= 0 and scan.report.complete
            if scan._kind == "itch" or (scan._kind == "capture" and scan._form == "itch"):
                for table in (scan.orders, scan.messages["A"], scan.messages["R"]):
                    assert sum(len(part) for part in table.batches(50)) >= 0 and scan.report.complete
    except (millpond.DamagedFile, OSError):
        pass


def check(data: bytes, form: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        read_all(path, form)


many = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@many
@given(st.binary(max_size=400), st.sampled_from([None, "journal", "itch", "quotes", "bbo28", "miax-tom"]))
def test_any_bytes(data: bytes, form: str | None) -> None:
    check(data, form)


@many
@given(st.binary(max_size=600), st.sampled_from([None, "itch", "quotes", "bbo28", "miax-tom"]))
def test_any_bytes_behind_a_capture_s_header(data: bytes, form: str | None) -> None:
    check(PCAP + data, form)


@many
@given(st.lists(st.tuples(st.integers(0, len(DAY) - 1), st.integers(0, 255)), max_size=20), st.booleans())
def test_a_day_with_changed_bytes(changes: list[tuple[int, int]], packed: bool) -> None:
    data = bytearray(DAY)
    for at, value in changes:
        data[at] = value
    check(gzip.compress(data, 1) if packed else bytes(data), None)


# Headers, and the first records, lie in its first 8 KiB.
@many
@given(
    st.lists(st.tuples(st.integers(0, 8_191), st.integers(0, 255)), max_size=20),
    st.integers(0, 20_000),
    st.sampled_from(["", "contents", "packed"]),
)
def test_a_segment_with_changed_bytes(changes: list[tuple[int, int]], cut: int, packed: str) -> None:
    data = bytearray(SEGMENT)
    for at, value in changes:
        data[at] = value
    if packed == "packed":
        check(bytes(data[:cut]) if cut % 2 else gzip.compress(data[:100_000], 1)[:cut], None)
    else:
        check(gzip.compress(data[:cut], 1) if packed else bytes(data[: cut or len(data)]), None)


@pytest.mark.parametrize("name", ["Miax.Tom.Mach.v1.9.Example.pcap", "Multiple.Packets.pcap"])
def test_a_real_capture_with_changed_bytes(data: Path, name: str) -> None:
    original = (data / name).read_bytes()[:50_000]
    for seed in range(20):
        changed = bytearray(original)
        for step in range(30):
            changed[(seed * 7919 + step * 104_729) % len(changed)] ^= 1 + (seed + step) % 255
        check(bytes(changed), None)
