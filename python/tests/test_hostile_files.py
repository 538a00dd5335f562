"""No bytes crash a scan: the outcome is one of the package's exceptions, or rows and a report."""

from __future__ import annotations

import gzip
import subprocess
import tempfile
import warnings
from pathlib import Path

import millpond
import pytest
from captures import HEADER, record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from itch_file import made_up_day

DAY, _ = made_up_day(300, 3)
GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
SEGMENT = gzip.decompress((GOLDEN / "journal_v5.mpj.gz").read_bytes())


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
@given(st.binary(max_size=400), st.sampled_from([None, "journal", "itch", "quotes", "bbo28", "miax-tom", "iex-tops", "iex-deep", "iex-deep-plus"]))
def test_no_bytes_crash_the_reader(data: bytes, form: str | None) -> None:
    check(data, form)


@many
@given(st.binary(max_size=600), st.sampled_from([None, "itch", "quotes", "bbo28", "miax-tom", "iex-tops", "iex-deep", "iex-deep-plus"]))
def test_no_bytes_after_a_capture_s_header_crash_a_scan(data: bytes, form: str | None) -> None:
    check(HEADER + data, form)


@many
@given(st.lists(st.tuples(st.integers(0, len(DAY) - 1), st.integers(0, 255)), max_size=20), st.booleans())
def test_a_day_with_changed_bytes_does_not_crash_a_scan(changes: list[tuple[int, int]], packed: bool) -> None:
    data = bytearray(DAY)
    for at, value in changes:
        data[at] = value
    check(gzip.compress(data, 1) if packed else bytes(data), None)


# The first 8 KiB have headers and the first records.
@many
@given(
    st.lists(st.tuples(st.integers(0, 8_191), st.integers(0, 255)), max_size=20),
    st.integers(0, 20_000),
    st.sampled_from(["", "contents", "packed"]),
)
def test_a_segment_with_changed_bytes_does_not_crash_a_scan(changes: list[tuple[int, int]], cut: int, packed: str) -> None:
    data = bytearray(SEGMENT)
    for at, value in changes:
        data[at] = value
    if packed == "packed":
        check(bytes(data[:cut]) if cut % 2 else gzip.compress(data[:100_000], 1)[:cut], None)
    else:
        check(gzip.compress(data[:cut], 1) if packed else bytes(data[: cut or len(data)]), None)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of the fuzz targets, by folder."""
    program = Path(millpond.__file__).with_name("_write_corpus")
    if not program.exists():
        pytest.skip("built without MILLPOND_PYTHON_TESTS")
    folder = tmp_path_factory.mktemp("corpora")
    subprocess.run([program, folder], check=True)
    return folder


def changed(data: bytes, seed: int) -> bytes:
    """Unchanged for seed 0, otherwise with some bytes changed."""
    result = bytearray(data)
    for step in range(30 if seed else 0):
        result[(seed * 7919 + step * 104_729) % len(result)] ^= 1 + (seed + step) % 255
    return bytes(result)


def in_capture(datagrams: bytes) -> bytes:
    """Converts datagrams, each after its length, to a capture."""
    capture, at = HEADER, 0
    while at + 2 <= len(datagrams):
        size = int.from_bytes(datagrams[at : at + 2], "little")
        capture += record(at, datagrams[at + 2 : at + 2 + size])
        at += 2 + size
    return capture


@pytest.mark.parametrize("name", ["bbo28", "quotes", "miax_tom", "itch", "iex_tops", "iex_deep", "iex_deep_plus"])
def test_fuzz_corpora_of_datagrams_do_not_crash_a_scan(corpora: Path, name: str) -> None:
    form = name.replace("_", "-")
    (folder,) = (each for each in corpora.iterdir() if each.name.replace("_", "-") == form)
    inputs = [path.read_bytes() for path in sorted(folder.iterdir())]
    assert len(inputs) >= 16
    for data in inputs:
        for seed in range(20):
            check(in_capture(changed(data, seed)), form)


@pytest.mark.parametrize("name", ["pcap", "itch_file"])
def test_fuzz_corpora_of_files_do_not_crash_a_scan(corpora: Path, name: str) -> None:
    for path in (corpora / name).iterdir():
        for seed in range(200):
            check(changed(path.read_bytes(), seed), "itch" if seed % 2 else None)


@pytest.mark.parametrize("name", ["fix_framing", "fix_parse", "fix_group", "fix_session"])
def test_fuzz_corpora_of_fix_messages_do_not_crash_a_scan(corpora: Path, tmp_path: Path, name: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    log = tmp_path / "raw.log"
    for path in (corpora / name).iterdir():
        for seed in range(50):
            log.write_bytes(b"20261121-18:12:03.123456789 < A->B " + changed(path.read_bytes(), seed) + b"\n")
            pyarrow.table(millpond.fix.scan(log, tags=[58], groups=[270])).validate(full=True)


@pytest.mark.parametrize("name", ["Miax.Tom.Mach.v1.9.Example.pcap", "Multiple.Packets.pcap"])
def test_a_real_capture_with_changed_bytes_does_not_crash_a_scan(data: Path, name: str) -> None:
    original = (data / name).read_bytes()[:50_000]
    for seed in range(20):
        check(changed(original, seed), None)
