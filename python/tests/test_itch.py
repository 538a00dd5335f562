"""ITCH messages with all their fields, and orders."""

from __future__ import annotations

import datetime
import gzip
import struct
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import databento_dbn as databento
import millpond
import numpy as np
import pytest
from captures import HEADER, mold, record
from interrupts import ended_by_interrupts
from itch_file import add, broken, delete, execute, framed, made_up_day

pyarrow = pytest.importorskip("pyarrow")

NOON = 12 * 3600 * 10**9

# A message of each type, without the first eleven bytes: the specification's fields as formats of struct.
MESSAGES: dict[str, tuple[str, tuple[Any, ...], tuple[Any, ...]]] = {
    "S": ("c", (b"O",), (b"O",)),
    "R": (
        "8sccIcc2scccccIc",
        (b"AAPL    ", b"Q", b"N", 100, b"N", b"C", b"Z ", b"P", b"N", b" ", b"1", b"N", 7, b"N"),
        (b"AAPL", b"Q", b"N", 100, b"N", b"C", b"Z", b"P", b"N", b"", b"1", b"N", 7, b"N"),
    ),
    "H": ("8scc4s", (b"AAPL    ", b"H", b" ", b"T1  "), (b"AAPL", b"H", b"", b"T1")),
    "Y": ("8sc", (b"AAPL    ", b"1"), (b"AAPL", b"1")),
    "L": ("4s8sccc", (b"NITE", b"AAPL    ", b"Y", b"N", b"A"), (b"NITE", b"AAPL", b"Y", b"N", b"A")),
    "V": ("QQQ", (4_210_123_456_789, 2, 3), (42_101.23456789, 2e-8, 3e-8)),
    "W": ("c", (b"2",), (b"2",)),
    "K": ("8sIcI", (b"AAPL    ", 36_000, b"A", 420_000), (b"AAPL", 36_000, b"A", 42.0)),
    "J": ("8sIIII", (b"AAPL    ", 10_000, 11_000, 9_000, 1), (b"AAPL", 1.0, 1.1, 0.9, 1)),
    "h": ("8scc", (b"AAPL    ", b"Q", b"H"), (b"AAPL", b"Q", b"H")),
    "A": ("QcI8sI", (1, b"B", 100, b"AAPL    ", 1_892_400), (1, b"B", 100, b"AAPL", 189.24)),
    "F": ("QcI8sI4s", (2, b"S", 5, b"AAPL    ", 1_892_500, b"MS  "), (2, b"S", 5, b"AAPL", 189.25, b"MS")),
    "E": ("QIQ", (1, 10, 77), (1, 10, 77)),
    "C": ("QIQcI", (1, 10, 78, b"N", 1_892_300), (1, 10, 78, b"N", 189.23)),
    "X": ("QI", (1, 5), (1, 5)),
    "D": ("Q", (2,), (2,)),
    "U": ("QQII", (1, 9, 60, 1_892_100), (1, 9, 60, 189.21)),
    "P": ("QcI8sIQ", (0, b"B", 30, b"AAPL    ", 1_892_450, 79), (0, b"B", 30, b"AAPL", 189.245, 79)),
    "Q": ("Q8sIQc", (5_000, b"AAPL    ", 1_890_000, 80, b"O"), (5_000, b"AAPL", 189.0, 80, b"O")),
    "B": ("Q", (79,), (79,)),
    "I": (
        "QQc8sIIIcc",
        (1, 2, b"B", b"AAPL    ", 10_000, 20_000, 30_000, b"O", b"L"),
        (1, 2, b"B", b"AAPL", 1.0, 2.0, 3.0, b"O", b"L"),
    ),
    "N": ("8sc", (b"AAPL    ", b"A"), (b"AAPL", b"A")),
    "O": (
        "8scIIIQII",
        (b"AAPL    ", b"Y", 10_000, 20_000, 15_000, 123, 14_000, 16_000),
        (b"AAPL", b"Y", 1.0, 2.0, 1.5, 123, 1.4, 1.6),
    ),
}


def message(letter: str, nanos: int = NOON, locate: int = 5, tracking: int = 6) -> bytes:
    form, values, _ = MESSAGES[letter]
    return letter.encode() + struct.pack(">HH", locate, tracking) + nanos.to_bytes(6, "big") + struct.pack(
        ">" + form, *values
    )


def write(path: Path, *messages: bytes) -> Path:
    path.write_bytes(framed(*messages))
    return path


@pytest.fixture
def every(tmp_path: Path) -> Path:
    return write(tmp_path / "day_20200130.itch", *(message(letter) for letter in ("R", *MESSAGES)))


@pytest.mark.parametrize("letter", MESSAGES)
def test_a_message_has_all_its_fields(every: Path, letter: str) -> None:
    scan = millpond.scan(every)
    assert set(scan.messages) == set(MESSAGES) and len(scan.messages) == len(MESSAGES)
    table = scan.messages[letter]
    rows = table.to_numpy()
    assert rows.dtype == table.dtype and len(rows) == (2 if letter == "R" else 1)
    row = rows[-1].tolist()
    names = rows.dtype.names or ()
    assert tuple(row[names.index("tracking") + 1 :]) == pytest.approx(MESSAGES[letter][2])
    assert (rows["stock_locate"][-1], rows["tracking"][-1]) == (5, 6)
    assert rows["ts_event"][-1] == np.datetime64("2020-01-30T17:00:00", "ns") and np.isnat(rows["ts_recv"][-1])
    assert rows["number"][-1] == 2 + list(MESSAGES).index(letter)
    symbol = "" if letter in "SVW" else "AAPL"
    assert scan.symbols_of(rows)[-1] == symbol
    arrow = table.to_arrow()
    arrow.validate(full=True)
    assert arrow["symbol"].to_pylist()[-1] == (symbol or None)
    for name in names:
        found = arrow[name].to_pylist()[-1] if name[:3] != "ts_" else None
        value = row[names.index(name)]
        if found is not None:
            assert found == (value.decode() if isinstance(value, bytes) else value), name
    assert scan.report.ok and scan.report.counts["messages"] == len(MESSAGES) + 1


def test_integer_prices_are_exact_and_have_columns_of_their_own(every: Path) -> None:
    scan = millpond.scan(every, prices="nanos")
    assert scan.messages["A"].to_numpy()["price_nanos"].tolist() == [189_240_000_000]
    assert scan.messages["V"].to_numpy()["level_1_nanos"].tolist() == [42_101_234_567_890]
    assert str(scan.messages["A"].to_arrow().schema.field("price_nanos").type) == "int64"


def test_an_unknown_letter_names_the_known_ones(every: Path) -> None:
    with pytest.raises(KeyError, match="must be one of S, R"):
        millpond.scan(every).messages["Z"]


def test_messages_are_chosen_by_symbol_and_time(tmp_path: Path) -> None:
    path = write(
        tmp_path / "day_20200130.itch",
        add(1, NOON, 1, "B", 100, "AAPL", 10_000),
        add(2, NOON + 1, 2, "B", 100, "MSFT", 10_000),
        delete(1, NOON + 2, 1),
        delete(2, NOON + 3, 2),
    )
    assert millpond.scan(path, symbols=["MSFT"]).messages["D"].to_numpy()["order_id"].tolist() == [2]
    start = np.datetime64("2020-01-30T17:00:00.000000003", "ns")
    later = millpond.scan(path, start=start)
    assert later.messages["D"].to_numpy()["order_id"].tolist() == [2]
    assert later.orders.to_numpy()["action"].tolist() == [b"C"]
    assert later.report.outside == 3


def test_messages_of_a_real_file_are_counted_like_a_plain_loop(data: Path) -> None:
    path = data / "aapl_20200130_first10k.itch"
    raw, at, plain = path.read_bytes(), 0, Counter[str]()
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 2], "big")
        plain[chr(raw[at + 2])] += 1
        at += 2 + size
    scan = millpond.scan(path)
    assert {letter: len(scan.messages[letter].to_numpy()) for letter in plain} == dict(plain)


def test_damage_names_the_byte_and_the_bound_and_keeps_the_rest(tmp_path: Path) -> None:
    good = message("A")
    path = tmp_path / "bad.itch"
    path.write_bytes(framed(good, b"z" + good[1:], good[:-1], good, good)[:-1])
    scan = millpond.scan(path, format="itch")
    with pytest.warns(millpond.MillpondWarning, match="bad.itch"):
        rows = scan.messages["A"].to_numpy()
    assert rows["number"].tolist() == [1, 4]
    errors = scan.report.errors
    assert "message 2 at byte 38" in errors[0] and "unknown type 122" in errors[0]
    assert "byte 76" in errors[1] and "35 bytes, bound 36" in errors[1]
    assert str(path) in errors[2] and scan.report.error_count == 3


def test_a_journal_has_no_messages(data: Path) -> None:
    scan = millpond.scan(data / "Miax.Tom.Mach.v1.9.Example.pcap")
    with pytest.raises(ValueError, match="only an ITCH file"):
        scan.orders.to_numpy()


def best(levels: dict[str, dict[int, int]]) -> tuple[int, int, int, int]:
    bid, ask = max(levels["B"], default=0), min(levels["A"], default=0)
    return bid, ask, levels["B"].get(bid, 0), levels["A"].get(ask, 0)


def quotes_from_orders(rows: millpond.batch.Rows, symbols: list[str]) -> list[tuple[int, str, int, int, int, int]]:
    """Each change of a best price, computed from the rows of orders alone."""
    books: dict[str, dict[str, dict[int, int]]] = defaultdict(lambda: {"B": defaultdict(int), "A": defaultdict(int)})
    seen: dict[str, tuple[int, int, int, int]] = {}
    found = []
    for row, symbol in zip(rows, symbols, strict=True):
        side = row["side"].decode()
        if row["action"] in (b"A", b"C"):
            level = books[symbol][side]
            level[int(row["price_nanos"]) // 100_000] += int(row["size"]) * (1 if row["action"] == b"A" else -1)
            if level[int(row["price_nanos"]) // 100_000] == 0:
                del level[int(row["price_nanos"]) // 100_000]
        if row["flags"] & millpond.Flag.LAST and seen.get(symbol, (0, 0, 0, 0)) != best(books[symbol]):
            seen[symbol] = best(books[symbol])
            found.append((int(row["number"]), symbol, *seen[symbol]))
    return found


@pytest.mark.parametrize("packed", [False, True])
def test_orders_give_the_best_prices_of_a_plain_book(tmp_path: Path, packed: bool) -> None:
    data, expected = made_up_day(20_000, 20, seed=5)
    path = tmp_path / ("day.itch.gz" if packed else "day.itch")
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    scan = millpond.scan(path, prices="nanos")
    rows = scan.orders.to_numpy()
    assert quotes_from_orders(rows, scan.symbols_of(rows).tolist()) == expected
    assert scan.report.ok and scan.report.counts["orders_unknown"] == 0
    trades = scan.trades.to_numpy()
    printed = rows[rows["action"] == b"T"]
    for column in ("number", "size", "price_nanos"):
        theirs = trades["sequence"] if column == "number" else trades[column]
        np.testing.assert_array_equal(printed[column], theirs)


def test_each_kind_of_change_has_its_rows(tmp_path: Path) -> None:
    path = write(
        tmp_path / "day_20200130.itch",
        *(message(letter) for letter in ("S", "R", "A", "F", "E", "C", "X", "U", "D", "P", "Q")),
        execute(5, NOON, 4711, 1, 1),
        message("X", locate=5),
    )
    scan = millpond.scan(path)
    with pytest.warns(millpond.MillpondWarning, match="2 errors"):
        rows = scan.orders.to_numpy()
    assert rows[["number", "action", "side", "order_id", "size"]].tolist() == [
        (1, b"R", b"N", 0, 0),
        (3, b"A", b"B", 1, 100),
        (4, b"A", b"A", 2, 5),
        (5, b"T", b"A", 0, 10),
        (5, b"F", b"B", 1, 10),
        (5, b"C", b"B", 1, 10),
        (6, b"F", b"B", 1, 10),  # not printable: no trade
        (6, b"C", b"B", 1, 10),
        (7, b"C", b"B", 1, 5),
        (8, b"C", b"B", 1, 75),
        (8, b"A", b"B", 9, 60),
        (9, b"C", b"A", 2, 5),
        (10, b"T", b"N", 0, 30),
        (11, b"T", b"N", 0, 5_000),
    ]
    assert rows["price"][5] == 189.24 and rows["price"][6] == 189.23 and rows["price"][7] == 189.24
    last = (rows["flags"] & millpond.Flag.LAST) != 0
    assert last.tolist() == [True, True, True, False, False, True, False, True, True, False, True, True, True, True]
    assert scan.report.counts["orders_unknown"] == 2
    assert scan.symbols_of(rows).tolist() == [""] + ["AAPL"] * 13


def test_databento_reads_our_orders(tmp_path: Path) -> None:
    data, _ = made_up_day(3_000, 4, seed=2)
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(framed(message("S")) + data)
    scan = millpond.scan(path)
    scan.to_dbn(tmp_path / "day.dbn", table="orders", dataset="XNAS.ITCH")
    decoder = databento.DBNDecoder()
    decoder.write((tmp_path / "day.dbn").read_bytes())
    metadata, *records = decoder.decode()
    rows = scan.orders.to_numpy()
    assert str(metadata.schema) == "mbo" and len(records) == len(rows)
    for record, row in zip(records, rows, strict=True):
        assert isinstance(record, databento.MBOMsg)
        price = databento.UNDEF_PRICE if np.isnan(row["price"]) else round(row["price"] * 10_000) * 100_000
        assert (record.order_id, record.price, record.size) == (row["order_id"], price, row["size"])
        assert (str(record.action), str(record.side)) == (row["action"].decode(), row["side"].decode())
        assert (record.sequence, record.instrument_id) == (row["number"], row["instrument_id"])
        assert bool(record.flags & 128) == bool(row["flags"] & millpond.Flag.LAST)
        assert record.ts_event == int(row["ts_event"].astype(np.int64))


def datagram(number: int, sequence: int, *messages: bytes, session: bytes = b"0000000001", port: int = 26400) -> bytes:
    """A MoldUDP64 datagram as a record of a pcap file."""
    return record(number, mold(sequence, framed(*messages), len(messages), session), port)


def test_repeated_messages_of_a_capture_are_skipped_and_losses_are_marked(tmp_path: Path) -> None:
    orders = [add(1, NOON + number, number, "B", 100, "AAPL", 10_000 + number) for number in range(1, 8)]
    path = tmp_path / "day.pcap"
    path.write_bytes(
        HEADER
        + datagram(1, 1, *orders[:3])
        + datagram(2, 2, *orders[1:4])  # repeats two of them
        + datagram(3, 6, orders[5])  # 5 is missing
        + datagram(4, 1, *orders[:2], port=26401)  # another channel
        + datagram(5, 1, orders[6], session=b"0000000002")
    )
    scan = millpond.scan(path)
    with pytest.warns(millpond.MillpondWarning, match="1 events lost"):
        rows = scan.messages["A"].to_numpy()
    assert rows["number"].tolist() == [1, 2, 3, 4, 6, 1, 2, 1]
    assert rows["channel"].tolist() == [0, 0, 0, 0, 0, 1, 1, 0]
    assert rows["ts_recv"][0] == np.datetime64("2020-01-30T16:00:00.000001", "ns")
    assert scan.report.counts["repeated"] == 2 and scan.report.counts["lost"] == 1
    assert scan.report.date == datetime.date(2020, 1, 30)
    with pytest.warns(millpond.MillpondWarning):
        steps = scan.orders.to_numpy()
    incomplete = (steps["flags"] & millpond.Flag.INCOMPLETE) != 0
    assert steps["action"].tolist() == [b"A"] * 7 + [b"R", b"A"]
    assert incomplete.tolist() == [False] * 4 + [True] + [False] * 4


@pytest.mark.parametrize("table", ["quotes", "orders"])
def test_a_capture_s_messages_that_cannot_be_applied_are_named_by_frame(table: str, tmp_path: Path) -> None:
    path = tmp_path / "day.pcap"
    good = [add(1, NOON, 1, "B", 100, "AAPL", 10_000), add(1, NOON, 2, "S", 100, "AAPL", 20_000)]
    path.write_bytes(HEADER + datagram(1, 1, good[0]) + datagram(2, 2, delete(1, NOON, 9), good[1]))
    scan = millpond.scan(path)
    with pytest.warns(millpond.MillpondWarning, match="1 errors"):
        rows = getattr(scan, table).to_numpy()
    assert scan.symbols_of(rows).tolist()[-1] == "AAPL" and len(rows) >= 2
    assert scan.report.errors == [f"'{path}', frame 2, message 2: order 9 is not known"]


def test_quotes_in_a_capture_without_a_printable_name_are_counted_by_frame(tmp_path: Path) -> None:
    def quote(symbol: bytes) -> bytes:
        return struct.pack("<BBHIqqQQq", len(symbol), 4, 0, 4, 10**9, 2 * 10**9, 5, 6, 0) + b"XNAS" + symbol

    def quotes(sequence: int, *symbols: bytes) -> bytes:
        body = b"".join(map(quote, symbols))
        head = (b"MPQT", 2, 0, 0, 1, sequence, 0, 0, len(symbols), 40 + len(body))
        return struct.pack("<4sBBHQQQIHH", *head) + body

    path = tmp_path / "quotes.pcap"
    path.write_bytes(
        HEADER + record(1, quotes(1, b"AAPL")) + record(2, quotes(2, b"A\xff", b"MSFT", b"\x01")) + record(3, quotes(5, b"IBM"))
    )
    scan = millpond.scan(path)
    with pytest.warns(millpond.MillpondWarning, match="1 errors, 0 events lost; 2 messages refused; .*frame 2: 2 messages"):
        rows = scan.to_numpy()
    assert scan.symbols_of(rows).tolist() == ["AAPL", "MSFT", "IBM"]
    assert len(scan.report.errors) == 1 and "not printable ASCII" in scan.report.errors[0]


def test_orders_and_messages_go_to_polars_and_parquet(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    data, _ = made_up_day(2_000, 3)
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(data + framed(broken(1, NOON, 5)))
    scan = millpond.scan(path)
    rows = scan.orders.to_numpy()
    frame = scan.orders.to_polars()
    assert frame["order_id"].to_list() == rows["order_id"].tolist()
    assert frame["symbol"].to_list() == scan.symbols_of(rows).tolist()
    scan.messages["A"].to_parquet(tmp_path / "adds.parquet")
    assert len(polars.read_parquet(tmp_path / "adds.parquet")) == len(scan.messages["A"].to_numpy())
    assert len(scan.messages["S"].to_polars()) == 0
    assert scan.messages["B"].to_pandas()["match_id"].tolist() == [5]


ORDERS: dict[str, Callable[[millpond.ItchTable, Path], object]] = {
    "arrow": lambda table, path: table.to_arrow(),
    "polars": lambda table, path: pytest.importorskip("polars") and table.to_polars(),
    "parquet": lambda table, path: table.to_parquet(path),
}


@pytest.mark.parametrize("read", ORDERS.values(), ids=ORDERS)
def test_an_interrupt_at_any_time_ends_the_reading_of_orders(
    tmp_path: Path, read: Callable[[millpond.ItchTable, Path], object]
) -> None:
    """KeyboardInterrupt is neither lost nor replaced by an exception of another package."""
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(made_up_day(50_000, 20)[0])
    table = millpond.scan(path).orders
    ended_by_interrupts(lambda: read(table, tmp_path / "out"), (KeyboardInterrupt,))


@pytest.mark.parametrize("read", ORDERS.values(), ids=ORDERS)
def test_a_warning_that_is_an_error_ends_the_reading_as_it_is(
    tmp_path: Path, read: Callable[[millpond.ItchTable, Path], object]
) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(made_up_day(50, 2)[0][:-1])
    with warnings.catch_warnings(), pytest.raises(millpond.MillpondWarning, match="the file ends after"):
        warnings.simplefilter("error")
        read(millpond.scan(path).orders, tmp_path / "out")


def test_texts_of_any_bytes_are_latin_1_in_arrow(tmp_path: Path) -> None:
    """A name with bytes outside of ASCII."""
    bad = add(1, NOON, 1, "B", 100, "AAPL", 10_000)
    bad = bad[:19] + b"\xe4" + bad[20:]  # the side
    scan = millpond.scan(write(tmp_path / "day_20200130.itch", bad))
    table = scan.messages["A"].to_arrow()
    table.validate(full=True)
    assert table["side"].to_pylist() == ["\u00e4"]
    assert scan.messages["A"].to_numpy()["side"].tolist() == [b"\xe4"]
