"""Invalid arguments are refused by name, with the value and the bound."""

from __future__ import annotations

import copy
import datetime
import gzip
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import millpond
import numpy as np
import pandas
import pytest
from itch_file import made_up_day
from millpond.times import time_ns


GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("day") / "day_20200130.itch"
    path.write_bytes(made_up_day(500, 3)[0])
    return path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"start": 2**63}, "start: found"),
        ({"end": -(10**30)}, "end: found"),
        ({"start": "2300-01-01"}, "start: found"),
        ({"end": np.datetime64("1600-01-01")}, "end: found"),
        ({"end": datetime.datetime.max}, "end: found"),
        ({"start": datetime.datetime(1, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo"))}, "start: found"),
        ({"start": pandas.NaT}, "not a time"),
        ({"date": "yesterday"}, "date: found 'yesterday'"),
        ({"date": pandas.NaT}, "date: found NaT"),
        ({"date": "0001-01-01"}, "from 1678 to 2261"),
        ({"date": "9999-12-31"}, "from 1678 to 2261"),
        ({"date": "2020-01-30", "timezone": "../../etc/passwd"}, "timezone: "),
        ({"symbols": ["\udcff"]}, "ASCII"),
        ({"only": "127.0.0.1:9"}, "not a capture"),
    ],
)
def test_values_out_of_range_are_refused_by_name(day: Path, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        millpond.scan(day, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"symbols": ["AAPL", 7]},
        {"symbols": 7},
        {"start": 1.5},
        {"start": float("nan")},
        {"end": b"2020"},
        {"date": 20200130},
        {"timezone": None},
        {"only": 5},
    ],
)
def test_values_of_another_type_are_refused_by_name(day: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(arguments))}: found "):
        millpond.scan(day, **arguments)


NOON_NS = 1_580_403_600_123_456_789
NOON = "2020-01-30T17:00:00.123456789"


@pytest.mark.parametrize(
    "time",
    [
        NOON,
        NOON + "Z",
        NOON + "5",
        NOON + "+00:00",
        "2020-01-30T12:00:00.123456789-05:00",
        "2020-01-30 22:30:00.123456789+0530",
        np.datetime64(NOON),
        pandas.Timestamp(NOON),
        pandas.Timestamp(NOON, tz="UTC"),
        pandas.Timestamp("2020-01-30T12:00:00.123456789", tz="America/New_York"),
        NOON_NS,
        np.int64(NOON_NS),
    ],
)
def test_a_time_keeps_its_nanoseconds(time: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert time_ns("start", time) == NOON_NS


def test_dates_and_datetimes_without_a_zone_are_utc() -> None:
    midnight = 1_580_342_400_000_000_000
    times = ["2020-01-30", datetime.date(2020, 1, 30), datetime.datetime(2020, 1, 30), np.datetime64("2020-01-30")]
    assert [time_ns("start", time) for time in times] == [midnight] * 4
    local = datetime.datetime(2020, 1, 30, tzinfo=ZoneInfo("America/New_York"))
    assert time_ns("start", local) == midnight + 5 * 3600 * 10**9


@pytest.mark.parametrize("date", ["2020-01-30", pandas.Timestamp("2020-01-30T23:00"), np.datetime64("2020-01-30")])
def test_dates_of_all_types_are_equal(day: Path, date: Any) -> None:
    found = millpond.scan(day, date=date).report.date
    assert type(found) is datetime.date and found == datetime.date(2020, 1, 30)


@pytest.mark.parametrize("interval", ["99999999999999999999s", "\u0663s", "1.5s"])
def test_an_interval_is_a_number_and_a_unit(day: Path, interval: str) -> None:
    with pytest.raises(ValueError, match="interval: found"):
        millpond.scan(day).bars(interval)


@pytest.mark.parametrize("max_rows", [1.5, "5", None])
def test_a_number_of_rows_is_an_int(day: Path, max_rows: Any) -> None:
    for table in (millpond.scan(day), millpond.scan(day).quotes, millpond.scan(day).orders):
        with pytest.raises(TypeError, match=f"max_rows: found {max_rows!r}, must be an int"):
            list(table.batches(max_rows))


@pytest.mark.parametrize(
    ("partition_by", "says"),
    [(5, "found 5"), (["symbol", "symbol"], "'symbol' twice"), ([None], "found None"), (["nothing"], "no column")],
)
def test_partitions_are_columns(day: Path, tmp_path: Path, partition_by: Any, says: str) -> None:
    pytest.importorskip("pyarrow")
    for table in (millpond.scan(day), millpond.scan(day).orders):
        with pytest.raises((TypeError, ValueError), match=f"partition_by: .*{says}"):
            table.to_parquet(tmp_path / "out", partition_by=partition_by)
    assert not list(tmp_path.iterdir())


WRITERS: dict[str, Callable[[millpond.Scan, Any], None]] = {
    "parquet": lambda scan, path: scan.to_parquet(path),
    "orders": lambda scan, path: scan.orders.to_parquet(path),
    "dbn": lambda scan, path: scan.to_dbn(path),
    "npz": lambda scan, path: scan.to_hftbacktest(path, "S1"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_is_written_whole_or_not_at_all(day: Path, tmp_path: Path, writer: str) -> None:
    """Only a file is replaced: for root, a rename could replace a device."""
    pytest.importorskip("pyarrow")
    write, scan = WRITERS[writer], millpond.scan(day)
    pipe = tmp_path / "pipe.npz"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match=r"pipe.npz' is not a file"):
        write(scan, pipe)
    assert pipe.is_fifo()
    pipe.unlink()
    pipe.mkdir()
    with pytest.raises(OSError, match=r"pipe.npz' is not a file"):
        write(scan, pipe)
    target, link = tmp_path / "target", tmp_path / "link.npz"
    link.symlink_to(target)
    write(scan, os.fsencode(link))
    assert link.is_symlink() and target.stat().st_size > 0
    before = target.read_bytes()
    cut = tmp_path / "cut_20200130.itch"
    cut.write_bytes(day.read_bytes()[:-1])
    if writer not in ("parquet", "orders"):  # these warn after the file is written
        with warnings.catch_warnings(), pytest.raises(Exception, match="ends after 30"):
            warnings.simplefilter("error")
            write(millpond.scan(cut), link)
        assert target.read_bytes() == before
    with pytest.raises(FileNotFoundError):
        write(scan, "")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["cut_20200130.itch", "link.npz", "pipe.npz", "target"]


def test_a_format_that_the_file_does_not_have_is_refused(day: Path, tmp_path: Path) -> None:
    with pytest.raises(millpond.DamagedFile, match="'journal' was asked for, but this is a file of ITCH messages"):
        millpond.scan(day, format="journal")
    capture = tmp_path / "day.pcap"
    capture.write_bytes(bytes.fromhex("d4c3b2a102000400000000000000000000000400") + bytes([1, 0, 0, 0]))
    with pytest.raises(millpond.DamagedFile, match="'journal' was asked for, but this is a capture"):
        millpond.scan(capture, format="journal")
    segment = tmp_path / "0000000001.mpj"
    segment.write_bytes(gzip.decompress((GOLDEN / "journal_v5.mpj.gz").read_bytes()))
    with pytest.raises(millpond.DamagedFile, match="'itch' was asked for, but this is a segment of a journal"):
        millpond.scan(segment, format="itch")
    segment.write_bytes(b"")
    with pytest.raises(millpond.DamagedFile, match="the file is empty"):
        millpond.scan(segment)


@pytest.mark.parametrize("latency_ns", [-1, 2**63, 1.5, float("nan"), "5"])
def test_a_latency_is_whole_nanoseconds(day: Path, tmp_path: Path, latency_ns: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="latency_ns: found"):
        millpond.scan(day).to_hftbacktest(tmp_path / "out.npz", "S1", latency_ns=latency_ns)
    with pytest.raises(TypeError, match="symbol: found None"):
        millpond.scan(day).to_hftbacktest(tmp_path / "out.npz", None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [{"tags": 55}, {"tags": "55"}, {"tags": [55.5]}, {"tags": ["\u00b2"]}, {"tags": [None]}, {"types": "AE"},
     {"types": [5]}, {"types": None}, {"groups": ["NoSuchName"]}],
)  # fmt: skip
def test_arguments_of_fix_scans_are_refused_by_name(day: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{next(iter(arguments))}: found "):
        millpond.fix.scan(day, **arguments)


def test_columns_of_fix_scans_have_different_names(day: Path) -> None:
    with pytest.raises(ValueError, match="'55' twice"):
        millpond.fix.scan(day, tags=[55], groups=[55])


@pytest.mark.parametrize(
    "arguments",
    [{"url": 5}, {"url": "tcp://127.0.0.1:99999"}, {"url": "ws://[::1"}, {"url": "http://127.0.0.1:1"},
     {"timeout": -1}, {"timeout": 0}, {"timeout": float("nan")}, {"timeout": "5"}, {"tls": "/ca.pem"}, {"token": 5}],
)  # fmt: skip
def test_arguments_of_connections_are_refused_by_name(arguments: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{next(iter(arguments))}: found "):
        millpond.connect(**{"url": "ws://127.0.0.1:1", **arguments})


def test_a_token_that_contains_a_header_is_refused_without_quoting_it() -> None:
    with pytest.raises(ValueError, match="token: has characters") as caught:
        millpond.connect("ws://127.0.0.1:1", token="secret\r\nX-Other: 1")
    assert "secret" not in str(caught.value)


def test_scans_that_were_read_can_be_copied_to_other_processes(day: Path) -> None:
    pytest.importorskip("pyarrow")
    scan = millpond.scan(day, symbols=["S1"], prices="nanos")
    rows = scan.to_numpy()
    for again in (pickle.loads(pickle.dumps(scan)), copy.deepcopy(scan)):
        assert again.to_numpy().tobytes() == rows.tobytes()
        assert again.symbols_of(rows).tolist() == ["S1"] * len(rows)
    log = millpond.fix.scan(day)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", millpond.MillpondWarning)
        log.to_arrow()
    assert pickle.loads(pickle.dumps(log)).path == str(day)


@pytest.mark.parametrize("form", ["quotes", "bbo28", "miax-tom"])
def test_an_itch_file_is_not_read_as_another_format(day: Path, form: str) -> None:
    with pytest.raises(millpond.DamagedFile, match="but this is a file of ITCH messages"):
        millpond.scan(day, format=form)


def test_a_folder_without_segments_is_not_an_empty_journal(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of a journal")
    for form in (None, "journal"):
        with pytest.raises(millpond.DamagedFile, match="no segment of a journal"):
            millpond.scan(tmp_path, format=form)


def test_an_interpreter_whose_gil_is_kept_off_is_refused() -> None:
    code = "import sys; sys._is_gil_enabled = lambda: False; import millpond"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "ImportError: millpond needs the GIL" in done.stderr


def test_file_names_that_are_not_utf8_or_contain_a_zero_are_refused(day: Path) -> None:
    odd = Path(os.fsdecode(bytes(day.parent) + b"/\xff.itch"))
    odd.write_bytes(day.read_bytes())
    for scan in (millpond.scan, millpond.fix.scan):
        with pytest.raises(ValueError, match="not UTF-8"):
            scan(odd)
        with pytest.raises(ValueError, match="code 0"):
            scan(f"{day}\0.gz")
