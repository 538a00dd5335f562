"""Files as tables."""

from __future__ import annotations

import datetime
import errno
import gzip
import multiprocessing
import os
import signal
import struct
import subprocess
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import millpond
import numpy as np
import pytest
import zstandard
from captures import HEADER, mold, record
from conftest import LONG, Gateway
from itch_file import add, broken, delete, execute, framed, made_up_day
from millpond.__main__ import main

duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

NOON = 12 * 3600 * 10**9
arrow = millpond.Scan._arrow
GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, str, int, int, int, int]]]:
    data, expected = made_up_day(20_000, 20)
    path = tmp_path_factory.mktemp("day") / "day_20200130.itch"
    path.write_bytes(data)
    return path, expected


def quotes_of(scan: millpond.Scan) -> list[tuple[int, str, int, int, int, int]]:
    """Quotes in the form of made_up_day."""
    rows = scan.to_numpy()
    prices = [np.where(rows[column] == millpond.UNDEF_PRICE, 0, rows[column]) for column in ("bid_px_00_nanos", "ask_px_00_nanos")]
    sides = [prices[0] // 100_000, prices[1] // 100_000, rows["bid_sz_00"], rows["ask_sz_00"]]
    return list(zip(rows["sequence"].tolist(), scan.symbols_of(rows).tolist(), *(side.tolist() for side in sides)))


def test_quotes_of_a_day_equal_those_of_a_plain_book(day: tuple[Path, list[tuple[int, str, int, int, int, int]]]) -> None:
    path, expected = day
    scan = millpond.scan(path, prices="nanos")
    assert quotes_of(scan) == expected
    report = scan.report
    assert report.ok and report.complete and report.date == datetime.date(2020, 1, 30)
    assert report.counts["messages"] == 20_000


@pytest.mark.parametrize("read", ["to_numpy", "to_arrow", "to_polars"])
def test_symbols_that_a_file_does_not_have_are_named(day, read: str) -> None:  # type: ignore[no-untyped-def]
    known = millpond.scan(day[0])
    known.to_numpy()
    symbols = [str(known.symbols[0]), "NONE", "nil"]
    scan = millpond.scan(day[0], symbols=symbols)
    with pytest.warns(millpond.MillpondWarning, match="no instrument is called 'NONE', 'nil'$"):
        assert len(getattr(scan, read)()) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", millpond.MillpondWarning)
        getattr(millpond.scan(day[0], symbols=symbols[:1]), read)()
        next(scan.batches(1))  # the rest of the file may have them


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_segment_that_was_cut_off_is_an_error(tmp_path: Path, size: int) -> None:
    golden = gzip.decompress((GOLDEN / "journal_v5.mpj.gz").read_bytes())
    (tmp_path / "0000000001.mpj").write_bytes(golden)
    (tmp_path / "0000000002.mpj").write_bytes(golden[:size])
    scan = millpond.scan(tmp_path)
    with pytest.warns(millpond.MillpondWarning, match="events lost"):
        rows = scan.to_numpy()
    assert len(rows) == 131
    # Without the file `lock`, a writer may just have created the empty newest segment.
    assert any("0000000002.mpj" in error for error in scan.report.errors) == (size != 0)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_files_are_read_like_plain_ones(day, tmp_path: Path, ending: str) -> None:  # type: ignore[no-untyped-def]
    path, expected = day
    packed = tmp_path / ("day.itch" + ending)
    data = path.read_bytes()
    half = len(data) // 2  # two consecutive members
    pack = gzip.compress if ending == ".gz" else zstandard.compress
    packed.write_bytes(pack(data[:half]) + pack(data[half:]))
    assert quotes_of(millpond.scan(packed, prices="nanos")) == expected


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_file_that_ends_early_is_reported(day, tmp_path: Path, ending: str) -> None:  # type: ignore[no-untyped-def]
    data = day[0].read_bytes()
    packed = tmp_path / ("day.itch" + ending)
    whole = gzip.compress(data) if ending == ".gz" else zstandard.compress(data)
    packed.write_bytes(whole[: len(whole) // 2])
    scan = millpond.scan(packed, prices="nanos")
    with pytest.warns(millpond.MillpondWarning):
        rows = scan.to_numpy()
    assert 0 < len(rows) < len(day[1])
    assert any("within its compressed data" in error and packed.name in error for error in scan.report.errors)


def test_times_count_from_midnight_at_the_exchange(tmp_path: Path) -> None:
    message = framed(add(1, NOON + 5, 1, "B", 100, "AAPL", 1_500_000))
    for name, date, begin in [
        ("01302020.NASDAQ_ITCH50", None, "2020-01-30T17:00:00.000000005"),
        ("S070120-v50.txt", None, "2020-07-01T16:00:00.000000005"),
        ("day.itch", "2021-03-14", "2021-03-14T16:00:00.000000005"),
        ("plain.itch", None, "1970-01-01T12:00:00.000000005"),
    ]:
        path = tmp_path / name
        path.write_bytes(message)
        expected = np.datetime64(begin, "ns")
        if name.startswith("day"):
            expected += np.timedelta64(1, "h")  # daylight saving time begins after midnight
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            row = millpond.scan(path, date=date).to_numpy()[0]
        assert row["ts_event"] == expected
        said = [str(each.message) for each in warned]
        assert [f"{path}: " in each and "1970-01-01" in each and "date=" in each for each in said] == [
            True
        ] * name.startswith("plain")
        assert np.isnat(row["ts_recv"])


def test_symbols_and_times_choose_rows(day) -> None:  # type: ignore[no-untyped-def]
    path, expected = day
    whole = millpond.scan(path)
    rows = whole.to_numpy()
    few = millpond.scan(path, symbols=["S3", "S4", "none"], prices="nanos")
    assert quotes_of(few) == [row for row in expected if row[1] in ("S3", "S4")]
    start, end = rows["ts_event"][200], rows["ts_event"][500]
    part = millpond.scan(path, start=start, end=str(end))
    assert part.to_numpy().tobytes() == rows[(rows["ts_event"] >= start) & (rows["ts_event"] < end)].tobytes()
    assert part.report.outside > 0
    with pytest.raises(ValueError, match="yesterday"):
        millpond.scan(path, start="yesterday")


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_times_choose_rows_of_a_journal_in_which_times_go_back(tmp_path: Path) -> None:
    path = tmp_path / "0000000001.mpj"
    segment = bytearray(gzip.decompress((GOLDEN / "journal_v5.mpj.gz").read_bytes()))
    path.write_bytes(segment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", millpond.MillpondWarning)  # the golden journal has losses
        times = millpond.scan(path).to_numpy()["ts_recv"].astype(np.int64)
        # Each quote gets the time of another one, which identifies its record.
        shuffled = np.random.default_rng(1).permutation(times)
        at = 8_192
        for old, new in zip(times, shuffled, strict=True):
            while True:
                (commit,) = struct.unpack_from("<Q", segment, at)
                size = (commit >> 16 & 0xFFFF) * 8
                begin, at = at, at + size
                if (place := segment.find(struct.pack("<q", old), begin + 16, at)) >= 0 and commit & 0xFFFF < 16:
                    break
            struct.pack_into("<q", segment, place, new)
            head = commit & 0xFFFF_FFFF
            crc = crc32c(struct.pack("<Q", head) + bytes(segment[begin + 8 : at]))
            struct.pack_into("<Q", segment, begin, head | crc << 32)
        path.write_bytes(segment)
        whole = millpond.scan(path)
        rows = whole.to_numpy()
        assert rows["ts_recv"].astype(np.int64).tolist() == shuffled.tolist()
        for since, until in [(None, 60), (60, None), (30, 90), (130, None), (0, 1)]:
            start = None if since is None else int(np.sort(times)[since])
            end = None if until is None else int(np.sort(times)[until])
            part = millpond.scan(path, start=start, end=end)
            chosen = (shuffled >= (start or 0)) & (shuffled < (end or 2**62))
            found, expected = part.to_numpy(), rows[chosen]
            assert found["number"].tolist() == expected["number"].tolist() and chosen.any()
            assert part.symbols_of(found).tolist() == whole.symbols_of(expected.copy()).tolist()
            assert part.report.outside >= int((~chosen).sum())
            with pytest.raises(ValueError, match="with other options"):  # its instruments have other numbers
                whole.symbols_of(found)


@pytest.mark.parametrize("prices", ["float64", "nanos"])
def test_differences_of_sizes_are_signed(tmp_path: Path, prices: str) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(
        framed(
            add(1, NOON, 1, "B", 100, "AAPL", 1_000_000),
            add(1, NOON, 2, "S", 300, "AAPL", 1_010_000),
            execute(1, NOON, 1, 50, 1),
        )
    )
    scan = millpond.scan(path, prices=prices)
    rows = scan.to_numpy()
    assert (rows["bid_sz_00"] - rows["ask_sz_00"]).tolist() == [100, -200, -250]
    stream = scan.quotes
    found = duckdb.sql("select bid_sz_00 - ask_sz_00 from stream order by number").fetchall()
    assert [each for (each,) in found] == [100, -200, -250]
    frame = scan.to_polars()
    assert (frame["bid_sz_00"] - frame["ask_sz_00"]).to_list() == [100, -200, -250]
    tables = [rows, scan.trades.to_numpy(), scan.orders.to_numpy(), scan.bars("1s")]
    tables += [scan.messages[letter].to_numpy() for letter in "RAFECXUPQI"]
    names = ("bid_sz_00", "ask_sz_00", "size", "volume", "count", "paired_size", "imbalance_size", "round_lot_size")
    sizes = [table.dtype[name] for table in tables for name in table.dtype.names or () if name in names]
    assert len(sizes) == 17 and set(sizes) == {np.dtype("<i8")}
    assert {str(pyarrow.table(each)["size"].type) for each in (scan.trades, scan.orders, scan.messages["A"])} == {"int64"}


def stored_zstd(data: bytes) -> bytes:
    """A zstd frame of raw blocks."""
    blocks = [data[begin : begin + (1 << 16)] for begin in range(0, len(data), 1 << 16)]
    frame = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))
    for number, block in enumerate(blocks, 1):
        frame += struct.pack("<I", len(block) << 3 | (number == len(blocks)))[:3] + block
    assert zstandard.ZstdDecompressor().decompress(frame) == data
    return frame


@pytest.mark.parametrize("kind", ["itch", "orders", "pcap", "gz", "zst"])
def test_a_file_that_becomes_shorter_while_it_is_read_is_not_ok(tmp_path: Path, kind: str) -> None:
    head, parts = b"", [framed(add(1, NOON + n, n, "B", 1, "AAPL", 10_000)) for n in range(1, 100_001)]
    if kind == "pcap":
        head, parts = HEADER, [record(n, mold(n, part, 1)) for n, part in enumerate(parts, 1)]
    elif kind in ("gz", "zst"):
        # Uncompressed, since the first 2 MiB are read at once.
        pack = (lambda data: gzip.compress(data, 0)) if kind == "gz" else stored_zstd
        parts = [pack(b"".join(parts[begin : begin + 10_000])) for begin in range(0, len(parts), 10_000)]
    path = tmp_path / (f"day_20200130.itch.{kind}" if kind in ("gz", "zst") else f"day_20200130.{kind}")
    path.write_bytes(head + b"".join(parts))
    scan = millpond.scan(path)
    read: Iterator[object] = scan.orders.batches(100) if kind == "orders" else scan.batches(100)
    next(read)
    os.truncate(path, len(head) + sum(map(len, parts[: len(parts) * 4 // 5])))
    with pytest.warns(millpond.MillpondWarning, match="bytes when it was opened"):
        for _ in read:
            pass
    assert not scan.report.ok
    assert any("bytes when it was opened" in error and path.name in error for error in scan.report.errors)


def test_arrow_consumers_see_numpy_s_rows(day) -> None:  # type: ignore[no-untyped-def]
    scan = millpond.scan(day[0])
    rows = scan.to_numpy()
    table = pyarrow.table(scan)
    table.validate(full=True)
    assert table.num_rows == len(rows)
    assert table.column("symbol").to_pylist() == scan.symbols_of(rows).tolist()
    assert table.column("ts_event").cast("int64").to_pylist() == rows["ts_event"].astype(np.int64).tolist()
    assert table.column("ts_recv").null_count == len(rows)
    empty = np.isnan(rows["bid_px_00"])
    assert table.column("bid_px_00").null_count == int(empty.sum()) > 0
    assert table.column("bid_px_00").is_null().to_pylist() == empty.tolist()
    frame = scan.to_polars()
    assert frame["ask_sz_00"].to_list() == rows["ask_sz_00"].tolist()
    assert frame["symbol"].cast(polars.String).to_list() == scan.symbols_of(rows).tolist()
    assert frame["bid_px_00"].null_count() == int(empty.sum())
    stream = scan.quotes
    counted = duckdb.sql("select symbol, count(*) from stream group by symbol order by symbol").fetchall()
    symbols, counts = np.unique(scan.symbols_of(rows), return_counts=True)
    assert counted == list(zip(symbols.tolist(), counts.tolist()))
    assert len(scan.to_pandas()) == len(rows)
    for name in ("trades", "breaks", "statuses", "gaps", "clears", "lost"):
        part = getattr(scan, name)
        assert pyarrow.table(part).num_rows == len(part.to_numpy())


def test_integer_prices_reach_arrow(day) -> None:  # type: ignore[no-untyped-def]
    column = pyarrow.table(millpond.scan(day[0], prices="nanos")).column("bid_px_00_nanos")
    assert str(column.type) == "int64"
    assert max(column.drop_null().to_pylist()) < 200_000_000_000


def test_an_arrow_stream_that_is_dropped_leaves_nothing_behind(day, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    packed = tmp_path / "day.itch.gz"
    packed.write_bytes(gzip.compress(day[0].read_bytes() * 4))
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        millpond.scan(packed).__arrow_c_stream__()
        reader = pyarrow.RecordBatchReader.from_stream(millpond.scan(packed))
        del reader
        next(millpond.scan(packed).batches(100))
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_parquet_files_hold_the_rows(day, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    scan = millpond.scan(day[0])
    rows = scan.to_numpy()
    scan.to_parquet(tmp_path / "day.parquet")
    assert polars.read_parquet(tmp_path / "day.parquet")["bid_sz_00"].to_list() == rows["bid_sz_00"].tolist()
    scan.to_parquet(tmp_path / "parts", partition_by="symbol")
    parts = polars.read_parquet(tmp_path / "parts" / "symbol-S7" / "*.parquet")
    assert len(parts) == int((scan.symbols_of(rows) == "S7").sum())
    with pytest.raises(ValueError, match="nothing"):
        scan.to_parquet(tmp_path / "none", partition_by=["nothing"])


def test_partitions_hold_each_row_once_even_if_files_are_reopened(day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("millpond.parquet._MAX_WAITING", 700)
    monkeypatch.setattr("millpond.parquet._MAX_OPEN", 3)
    monkeypatch.setattr("millpond.parquet._MAX_GROUPS", 2)
    monkeypatch.setattr(millpond.Scan, "_arrow", lambda scan, table, _: arrow(scan, table, 300))
    scan = millpond.scan(day[0])
    rows = scan.to_numpy()
    symbols = scan.symbols_of(rows)
    scan.to_parquet(tmp_path / "parts", partition_by="symbol")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts"]
    assert len(list((tmp_path / "parts").rglob("*.parquet"))) > len(set(symbols))  # some partitions were closed and continued
    frame = polars.read_parquet(tmp_path / "parts" / "**" / "*.parquet").sort("number")
    assert frame["number"].to_list() == rows["number"].tolist()
    assert frame["symbol"].cast(polars.String).to_list() == symbols.tolist()
    assert frame["ask_sz_00"].to_list() == rows["ask_sz_00"].tolist()
    assert set(frame["venue"].cast(polars.String)) == {"XNAS"}
    part = polars.read_parquet(tmp_path / "parts" / "symbol-S7" / "part-0.parquet")
    assert part["number"].is_sorted() and set(part["symbol"]) == {"S7"}
    with pytest.raises(FileExistsError, match="parts"):
        scan.to_parquet(tmp_path / "parts", partition_by=["symbol"])


def test_rows_without_a_value_have_a_partition(tmp_path: Path) -> None:
    path = tmp_path / "x_20200130.itch"
    path.write_bytes(framed(bytes.fromhex("53000000001f1acf0b00004f"), add(1, NOON, 1, "B", 1, "A/B", 10_000)))
    scan = millpond.scan(path)
    scan.statuses.to_parquet(tmp_path / "statuses", partition_by="symbol")
    assert [each.name for each in (tmp_path / "statuses").iterdir()] == ["symbol-__HIVE_DEFAULT_PARTITION__"]
    scan.to_parquet(tmp_path / "quotes", partition_by=["venue", "symbol"])
    assert [each.name for each in (tmp_path / "quotes" / "venue-XNAS").iterdir()] == ["symbol-A%2FB"]


def test_bars_leave_broken_trades_out(tmp_path: Path) -> None:
    path = tmp_path / "x_20200130.itch"
    second = 10**9
    path.write_bytes(
        framed(
            add(1, NOON, 1, "B", 1000, "AAPL", 1_000_000),
            add(1, NOON, 2, "S", 1000, "AAPL", 1_020_000),
            execute(1, NOON, 1, 100, 11),
            execute(1, NOON + second // 2, 2, 300, 12),
            execute(1, NOON + second, 2, 500, 13),
            execute(1, NOON + 2 * second, 1, 50, 14),
            broken(1, NOON + 3 * second, 13),
        )
    )
    scan = millpond.scan(path)
    rows = scan.bars("1s")
    assert rows["ts"].astype(str).tolist() == ["2020-01-30T17:00:00.000000000", "2020-01-30T17:00:02.000000000"]
    columns = ["count", "open", "high", "low", "close", "volume"]
    assert rows[columns].tolist() == [(2, 100.0, 102.0, 100.0, 102.0, 400), (1, 100.0, 100.0, 100.0, 100.0, 50)]
    assert rows["vwap"].tolist() == [101.5, 100.0]
    assert scan.breaks.to_numpy()["trade_id"].tolist() == [13]
    with pytest.raises(ValueError, match="weekly"):
        scan.bars("weekly")


def test_damage_keeps_the_good_rows_and_names_the_place(day, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    data = day[0].read_bytes()
    path = tmp_path / "cut.itch"
    path.write_bytes(data[: len(data) // 2] + b"\x00")
    scan = millpond.scan(path, prices="nanos")
    with pytest.warns(millpond.MillpondWarning, match="cut.itch"):
        rows = quotes_of(scan)
    assert rows == day[1][: len(rows)] and len(rows) > 100
    report = scan.report
    assert not report.ok and report.error_count == 1
    assert f"'{path}'" in report.errors[0] and "at byte" in report.errors[0]


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("AB\x01C", "stock at its byte 26: found 0x01, must be printable ASCII, 0x20 to 0x7E"),
        ("caf\xe9", "stock at its byte 27: found 0xE9, must be printable ASCII, 0x20 to 0x7E"),
        ("    ", "stock at its byte 24 is blank"),
    ],
)
def test_messages_about_a_stock_without_a_printable_name_are_refused(
    name: str, says: str, ending: str, tmp_path: Path
) -> None:
    good = [add(1, 10, 1, "B", 100, "AAPL", 1_892_400), delete(1, 40, 1)]
    bad = add(9, 20, 2, "B", 100, "????", 1_000).replace(b"????", name.encode("latin-1"))
    path = tmp_path / f"day_20200130.itch{ending}"
    data = framed(good[0], bad, good[1])
    path.write_bytes(gzip.compress(data) if ending else data)
    scan = millpond.scan(path, prices="nanos")
    with pytest.warns(millpond.MillpondWarning, match="1 errors, 0 events lost; 1 messages refused; .*stock at its byte"):
        rows = scan.to_numpy()
    assert rows["bid_px_00_nanos"].tolist() == [189_240_000_000, millpond.UNDEF_PRICE]
    assert scan.symbols_of(rows).tolist() == ["AAPL", "AAPL"]
    report = scan.report
    assert (report.ok, report.refused, report.error_count, report.complete) == (False, 1, 1, True)
    assert report.errors == [f"'{path}', message 2 at byte 38: {says}"]


ODD = add(1, 20, 9, "B", 100, "AAPL", 1_000)
FAULTS: dict[str, tuple[bytes, str]] = {
    "side": (ODD[:19] + b"X" + ODD[20:], "side at its byte 19: found 0x58, must be one of BS"),
    "no shares": (add(1, 20, 9, "B", 0, "AAPL", 1_000), "shares at its byte 20: found 0, must be 1 or more"),
    "added twice": (add(1, 20, 1, "B", 100, "AAPL", 1_000), "order 1 exists already"),
    "unknown order": (delete(1, 20, 77), "order 77 is not known"),
    "too many shares": (execute(1, 20, 1, 101, 5), "shares at its byte 19: found 101, more than order 1 has"),
    "other stock": (
        add(1, 20, 9, "B", 100, "IBM", 1_000),
        "stock at its byte 24: found 'IBM', must be 'AAPL', the stock of locate 1",
    ),
    "time": (
        ODD[:5] + (86_400_000_000_000).to_bytes(6, "big") + ODD[11:],
        "time at its byte 5: found 86400000000000, must be at most 86399999999999",
    ),
    "cut": (ODD[:35], "type A with 35 bytes, bound 36"),
    "unknown type": (b"z23", "unknown type 122"),
}


@pytest.mark.parametrize(("bad", "says"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("table", ["quotes", "orders"])
def test_messages_that_cannot_be_applied_are_named_and_the_rest_is_kept(
    table: str, bad: bytes, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(framed(add(1, 10, 1, "B", 100, "AAPL", 1_892_400), bad, add(2, 30, 2, "S", 5, "MSFT", 1_000)))
    scan = millpond.scan(path)
    with pytest.warns(millpond.MillpondWarning, match="1 errors"):
        rows = getattr(scan, table).to_numpy()
    symbols = scan.symbols_of(rows).tolist()
    assert symbols[0] == "AAPL" and symbols[-1] == "MSFT"
    assert scan.report.errors == [f"'{path}', message 2 at byte 38: {says}"]
    assert not scan.report.ok and scan.report.complete


def test_frames_that_a_capture_did_not_keep_whole_are_an_error(tmp_path: Path) -> None:
    begin = mold(1, struct.pack(">H", 12) + b"S" + bytes(10) + b"O", 1)
    whole, cut = record(1, begin), record(2, mold(2, bytes(500), 5))
    path = tmp_path / "short.pcap"
    path.write_bytes(HEADER + whole + cut[:8] + struct.pack("<I", 80) + cut[12 : 16 + 80])
    day = millpond.scan(path, format="itch", date="2020-01-30")
    with pytest.warns(millpond.MillpondWarning):
        assert len(day.statuses.to_numpy()) == 1
    assert not day.report.ok
    assert day.report.counts["cut"] == 1
    assert day.report.errors == [f"'{path}': 1 datagrams were not kept whole by the capture and are missing"]


def test_many_faults_are_counted_and_the_first_hundred_named(tmp_path: Path) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(framed(*(delete(1, 20, order) for order in range(5_000))))
    scan = millpond.scan(path)
    for table in (scan.quotes, scan.orders):
        with pytest.warns(millpond.MillpondWarning, match="5000 errors"):
            assert len(table.to_numpy()) == 0
        assert scan.report.error_count == 5_000 and len(scan.report.errors) == 100


@pytest.mark.parametrize("read", ["to_numpy", "to_arrow", "to_polars", "to_pandas", "to_parquet"])
def test_every_way_to_read_warns_of_damage(day, tmp_path: Path, read: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "cut.itch"
    path.write_bytes(day[0].read_bytes()[:-1])
    scan = millpond.scan(path, date="2020-01-30")
    more = [tmp_path / "out.parquet"] if read == "to_parquet" else []
    with pytest.warns(millpond.MillpondWarning, match="cut.itch") as caught:
        getattr(scan, read)(*more)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(millpond.scan(day[0]), read)(*more)


def test_files_of_unknown_formats_are_refused(tmp_path: Path) -> None:
    for name, data in [("a", b""), ("b", b"x"), ("c", b"hello, world, this is text"), ("d.gz", gzip.compress(b"text"))]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(millpond.DamagedFile, match=name):
            millpond.scan(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        millpond.scan(tmp_path / "nothing")
    (tmp_path / "e.pcap").write_bytes(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 147))
    with pytest.raises(millpond.DamagedFile, match="link type 147"):
        millpond.scan(tmp_path / "e.pcap")
    with pytest.raises(ValueError, match="csv"):
        millpond.scan(tmp_path / "a", format="csv")


def test_memory_is_bounded_by_the_batch_not_the_file(day, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "long.itch"
    data = day[0].read_bytes()
    path.write_bytes(data)
    tracemalloc.start()
    for _ in range(3):
        for batch in millpond.scan(path).batches(1000):
            assert len(batch) < 2_000
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20 and size < 1 << 20


READS: dict[str, Callable[[millpond.Scan], object]] = {
    "numpy": lambda scan: scan.to_numpy(),
    "orders": lambda scan: scan.orders.to_numpy(),
    "arrow without a row on the way": lambda scan: scan.lost.to_arrow(),
    "polars": lambda scan: scan.gaps.to_polars(),
    "messages": lambda scan: scan.messages["R"].to_arrow(),
    "parquet": lambda scan: scan.to_parquet(scan.path + ".parquet"),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_ctrl_c_ends_a_scan(day, tmp_path: Path, read: Callable[[millpond.Scan], object]) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "long.itch"
    path.write_bytes(day[0].read_bytes() * 40)
    scan = millpond.scan(path)

    def interrupt() -> None:
        while scan.report.counts.get("messages", 0) == 0:  # until the main thread reads
            pass
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        threading.Thread(target=interrupt).start()
        read(scan)
        while True:  # the signal is about to arrive
            pass
    assert not scan.report.complete
    assert sorted(file.name for file in tmp_path.iterdir()) == ["long.itch"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", millpond.MillpondWarning)
        assert len(scan.trades.to_numpy()) > 0 and scan.report.complete


@pytest.mark.parametrize("progress", [True, None])
def test_progress_is_shown_for_every_way_to_read(  # type: ignore[no-untyped-def]
    day, tmp_path: Path, capfd: pytest.CaptureFixture[str], progress: bool | None
) -> None:
    scan = millpond.scan(day[0], progress=progress)
    reads = {
        "numpy": scan.to_numpy,
        "arrow": scan.to_arrow,
        "polars": scan.to_polars,
        "orders": scan.orders.to_polars,
        "file": lambda: scan.to_parquet(tmp_path / "day.parquet"),
        "partitions": lambda: scan.to_parquet(tmp_path / "parts", partition_by="symbol"),
    }
    for name, read in reads.items():
        read()
        said = capfd.readouterr().err
        assert (f"millpond: {day[0]} [" in said and "%" in said) == bool(progress), name


def test_concurrent_readings_keep_their_own_names(tmp_path: Path) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(made_up_day(2_000, 20)[0])
    scan = millpond.scan(path)
    quotes, orders = scan.to_numpy(), scan.orders.to_arrow()
    symbols = scan.quotes.to_arrow()["symbol"].to_pylist()
    found: list[str] = []
    for rows, _ in zip(scan.quotes.batches(100), scan.trades.batches(1)):
        found += scan.symbols_of(rows).tolist()
    assert found == symbols[: len(found)] and 0 < len(found) <= len(quotes)
    reader = pyarrow.RecordBatchReader.from_stream(scan.orders)
    next(scan.batches(1))  # has few names
    assert reader.read_all() == orders


@pytest.mark.parametrize("packed", [False, True])
def test_a_forked_process_and_its_parent_both_read_the_rest(tmp_path: Path, packed: bool) -> None:
    data, expected = made_up_day(200_000, 20)  # longer than one read
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    batches = millpond.scan(path).quotes.batches(1_000)
    first = len(next(batches))
    child = multiprocessing.get_context("fork").Process(
        target=lambda: os._exit(first + sum(map(len, batches)) != len(expected))
    )
    child.start()
    assert first + sum(map(len, batches)) == len(expected)
    child.join()
    assert child.exitcode == 0


@pytest.mark.parametrize("kind", ["itch", "itch.gz", "pcap", "mpj", "mpj.gz"])
def test_scans_leak_neither_memory_nor_descriptors(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"0000000001.{kind}"
    data = framed(add(1, NOON, 1, "B", 100, "AAPL", 1_000_000))
    if kind.startswith("mpj"):
        data = gzip.decompress((GOLDEN / "journal_v5.mpj.gz").read_bytes())
    elif kind == "pcap":
        data = HEADER + record(0, mold(1, data, 1))
    path.write_bytes(gzip.compress(data) if kind.endswith(".gz") else data)
    rows = 131 if kind.startswith("mpj") else 1

    def rss() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def scan_many(count: int) -> None:
        for _ in range(count):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", millpond.MillpondWarning)  # the recorded journal has losses
                assert len(millpond.scan(path).to_numpy()) == rows

    scan_many(200)
    before, descriptors = rss(), len(os.listdir("/proc/self/fd"))
    scan_many(10_000 if LONG or kind in ("itch", "mpj") else 1_000)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert rss() - before < 16 << 20
    tracemalloc.start()
    scan_many(100)
    begin, _ = tracemalloc.get_traced_memory()
    scan_many(500)
    end, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert end - begin < 64 << 10


def test_a_name_that_is_damaged_in_one_segment_is_read_from_the_next(
    program: str, ring_name: str, tmp_path: Path
) -> None:
    folder = tmp_path / "journal"
    gateway = Gateway(program, ring_name, "--journal", f"folder={folder},segment_bytes=1MiB")
    try:
        to = f"127.0.0.1:{gateway.feed_port}"
        subprocess.run(
            [program, "generate", "--to", to, "--symbols", "2", "--count", "25000", "--rate", "50000", "--quiet"],
            stdout=subprocess.DEVNULL,
            check=True,
        )
    finally:
        gateway.close()
    whole = millpond.scan(folder)
    rows = whole.to_numpy()
    name = str(whole.symbols_of(rows)[-1])
    segments = sorted(folder.glob("*.mpj"))
    assert len(segments) > 2
    count = int((whole.symbols_of(rows) == name).sum())
    first = int((millpond.scan(segments[0], symbols=[name]).to_numpy()["number"]).size)
    damaged = bytearray(segments[0].read_bytes())
    damaged[damaged.index(name.encode() + b"\0")] ^= 1
    segments[0].write_bytes(damaged)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", millpond.MillpondWarning)
        after = millpond.scan(folder)
        symbols = after.symbols_of(after.to_numpy())
        assert int((symbols == name).sum()) == count - first
        assert len(millpond.scan(folder, symbols=[name]).to_numpy()) == count - first


def test_a_journal_has_the_rows_of_its_ring(program: str, ring_name: str, tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    gateway = Gateway(program, ring_name, "--journal", f"folder={folder},segment_bytes=1MiB")
    live = []
    try:
        ring = millpond.Ring(ring_name)
        port = gateway.feed_port
        subprocess.run(
            [program, "generate", "--to", f"127.0.0.1:{port}", "--count", "5000", "--rate", "20000", "--quiet"],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        for batch in ring.batches(timeout=1.0):
            live.append(batch.quotes)
            if sum(map(len, live)) == 5000 or len(batch) == 0:
                break
        names = ring.symbols
    finally:
        gateway.close()
    seen = np.concatenate(live)
    scan = millpond.scan(folder)
    rows = scan.to_numpy()
    assert len(rows) == len(seen) == 5000
    for column in ("ts_recv", "ts_event", "bid_px_00", "ask_px_00", "bid_sz_00", "ask_sz_00", "sequence", "flags"):
        np.testing.assert_array_equal(rows[column], seen[column])
    assert scan.symbols_of(rows).tolist() == names[seen["instrument_id"]].tolist()
    assert scan.report.ok
    half = seen["ts_recv"][2500]
    later = millpond.scan(folder, start=half)
    assert len(later.to_numpy()) == int((seen["ts_recv"] >= half).sum())
    assert len(pyarrow.table(scan)) == 5000
    segment = sorted(folder.glob("*.mpj"))[0]
    damaged = bytearray(segment.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    segment.write_bytes(damaged)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", millpond.MillpondWarning)
        after = millpond.scan(folder)
        kept = after.to_numpy()
    assert len(kept) > 0 and (len(kept) == 5000 or not after.report.ok)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which segments are unpacked."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_a_compressed_segment_that_ends_early_keeps_the_records_before(temporary: Path, tmp_path: Path) -> None:
    golden = (GOLDEN / "journal_v5.mpj.gz").read_bytes()
    plain = tmp_path / "plain.mpj"
    plain.write_bytes(gzip.decompress(golden))
    path = tmp_path / "0000000001.mpj.gz"
    path.write_bytes(golden[: len(golden) // 2])
    scan = millpond.scan(path)
    with pytest.warns(millpond.MillpondWarning, match="within its compressed data"):
        rows = scan.to_numpy()
    with pytest.warns(millpond.MillpondWarning, match="69 events lost"):
        whole = millpond.scan(plain).to_numpy()
    assert 0 < len(rows) < len(whole) and rows.tobytes() == whole[: len(rows)].tobytes()
    errors = scan.report.errors
    assert not scan.report.ok and any("cut off" in error for error in errors)
    assert all(str(path) in error for error in errors if "/" in error) and str(temporary) not in "".join(errors)


def test_an_unpacked_segment_is_gone_after_the_scan(temporary: Path, tmp_path: Path) -> None:
    path = tmp_path / "0000000001.mpj.gz"
    path.write_bytes((GOLDEN / "journal_v5.mpj.gz").read_bytes())
    scan = millpond.scan(path)
    batches = scan.batches(max_rows=1)
    next(batches)
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700 and [each.name for each in folder.iterdir()] == ["0000000001.mpj"]
    del batches, scan
    assert list(temporary.iterdir()) == []


@pytest.fixture
def small_disk(temporary: Path) -> Iterator[Path]:
    """A temporary folder on a disk of 64 KiB."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", temporary], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("may not mount a tmpfs (root needed)")
    yield temporary
    subprocess.run(["umount", temporary], check=True)


SCANS: dict[str, Callable[[millpond.Scan], object]] = {
    "numpy": lambda scan: scan.to_numpy(),
    "arrow": lambda scan: scan.to_arrow(),
    "polars": lambda scan: scan.to_polars(),
    "parquet": lambda scan: scan.to_parquet(scan.path + ".parquet"),
    "partitions": lambda scan: scan.to_parquet(scan.path + ".parts", partition_by="symbol"),
}


# Records that do not fit, and zeros after the last record, which a mapping would read.
@pytest.mark.parametrize("noise", [0, 100_000])
@pytest.mark.parametrize("read", SCANS.values(), ids=SCANS)
def test_a_full_folder_for_temporary_files_is_named(
    small_disk: Path, tmp_path: Path, read: Callable[[millpond.Scan], object], noise: int
) -> None:
    segment = bytearray(gzip.decompress((GOLDEN / "journal_v5.mpj.gz").read_bytes()))
    segment[len(segment) - noise :] = os.urandom(noise)
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "0000000001.mpj.gz"
    path.write_bytes(gzip.compress(segment))
    scan = millpond.scan(path)
    for _ in range(2):
        with pytest.raises(Exception) as caught:
            read(scan)
        said = str(caught.value)
        assert f"cannot unpack '{path}' into '{small_disk}': cannot write byte " in said, said
        assert "choose another folder for temporary files (TMPDIR)" in said and "No space left on device" in said
        assert list(small_disk.iterdir()) == []
        assert list(path.parent.iterdir()) == [path]
    with pytest.raises(OSError) as failed:
        scan.to_numpy()
    assert failed.value.errno == errno.ENOSPC
    assert not scan.report.complete


def test_export_reports_a_full_folder(small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "0000000001.mpj.gz"
    path.write_bytes((GOLDEN / "journal_v5.mpj.gz").read_bytes())
    assert main(["export", str(path), str(tmp_path / "out")]) == 1
    assert str(path) in (said := capsys.readouterr().err) and "TMPDIR" in said
    assert list((tmp_path / "out").iterdir()) == [] and list(small_disk.iterdir()) == []


def test_a_folder_with_compressed_segments_is_refused(tmp_path: Path) -> None:
    golden = (GOLDEN / "journal_v5.mpj.gz").read_bytes()
    (tmp_path / "0000000001.mpj.gz").write_bytes(golden)
    (tmp_path / "0000000002.mpj").write_bytes(gzip.decompress(golden))
    with pytest.raises(millpond.DamagedFile, match=r"'0000000001\.mpj\.gz' is compressed"):
        millpond.scan(tmp_path)


def test_a_real_capture_gives_every_quote(data: Path) -> None:
    scan = millpond.scan(data / "Miax.Tom.Mach.v1.9.Example.pcap")
    rows = scan.to_numpy()
    assert len(rows) == 25_905 + 24_912
    assert scan.report.counts["frames"] == 20_560 and scan.report.ok
    assert (np.diff(rows["ts_recv"].astype(np.int64)) >= 0).all()
    assert rows["ts_recv"][0] >= np.datetime64("2016-10-18T19:39:00")
    two = millpond.scan(data / "Multiple.Packets.pcap")
    assert two.report.date == datetime.date(2023, 8, 22)
    with pytest.warns(millpond.MillpondWarning, match="frame 1, message [0-9]+: order [0-9]+ is not known"):
        list(two.batches())
    assert two.report.counts["datagrams"] == 2


def test_a_real_itch_file_gives_its_known_changes(data: Path) -> None:
    scan = millpond.scan(data / "aapl_20200130_first10k.itch")
    assert len(scan.to_numpy()) == 2_792
    assert scan.report.date == datetime.date(2020, 1, 30)
    assert scan.report.counts["messages"] == 10_000
    assert set(scan.symbols_of(scan.to_numpy())) == {"AAPL"}


@pytest.mark.parametrize("ending", ["pcapng", "pcapng.gz", "pcapng.zst"])
def test_pcapng_gives_the_same_rows_as_its_pcap(program: str, tmp_path: Path, ending: str) -> None:
    plain = tmp_path / "day.pcap"
    subprocess.run([program, "generate", "--out", str(plain), "--count", "2000"], check=True, capture_output=True)
    data = plain.read_bytes()
    link = struct.unpack_from("<I", data, 20)[0]

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    nanoseconds = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    made = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    made += block(1, struct.pack("<HHI", link, 0, 0) + nanoseconds)
    at = 24
    while at < len(data):
        seconds, fraction, captured, original = struct.unpack_from("<IIII", data, at)
        time = seconds * 1_000_000_000 + fraction
        frame = data[at + 16 : at + 16 + captured]
        made += block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, captured, original) + frame)
        at += 16 + captured
    path = tmp_path / f"day.{ending}"
    if ending.endswith("gz"):
        made = gzip.compress(made)
    elif ending.endswith("zst"):
        made = zstandard.ZstdCompressor().compress(made)
    path.write_bytes(made)
    expected, found = millpond.scan(plain).to_numpy(), millpond.scan(path).to_numpy()
    assert len(expected) == 2_000
    np.testing.assert_array_equal(found, expected)
