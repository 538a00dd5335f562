"""Damaged files in Databento's format: the damage is named, and all other records are read."""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from pathlib import Path

import databento_dbn as databento
import millpond
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROWS = Counter[tuple[str, tuple[object, ...]]]
TIME = 1_580_000_000_000_000_000


def recorded(seed: int, count: int, ts_out: bool = False) -> tuple[bytes, list[bytes]]:
    """Metadata and records from Databento's package: quotes, trades and orders."""
    random_ = random.Random(seed)
    head = databento.Metadata(
        dataset="XNAS.ITCH", start=1, stype_in=databento.SType.RAW_SYMBOL, stype_out=databento.SType.INSTRUMENT_ID,
        schema=databento.Schema.MBP_1, symbols=["AAPL"], ts_out=ts_out,
    )  # fmt: skip
    records = []
    for number in range(count):
        price, size, time = random_.randrange(1, 10**12), random_.randrange(2**32), TIME + number
        action = random_.choice([databento.Action.ADD, databento.Action.TRADE])
        side, kind = databento.Side.BID, random_.randrange(10)
        if kind == 0:
            record = databento.MBOMsg(2, 7, time, number, price, size, action, side, time, sequence=number)
        elif kind < 4:
            record = databento.TradeMsg(2, 7, time, price, size, action, side, 0, time, sequence=number)
        else:
            level = databento.BidAskPair(bid_px=price, ask_px=price + 10**6, bid_sz=size, ask_sz=number)
            record = databento.MBP1Msg(2, 7, time, price, size, action, side, 0, time, sequence=number, levels=level)
        records.append(bytes(record))
    return bytes(head), records


def read(path: Path) -> tuple[ROWS, list[str]]:
    """The rows, with the name of their table, and the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        rows = [(table, row) for table, part in millpond.from_dbn(path, prices="nanos") for row in part.tolist()]
    return Counter(rows), [str(each.message) for each in warned]


def read_records(path: Path, head: bytes, records: list[bytes]) -> ROWS:
    path.write_bytes(head + b"".join(records))
    rows, warned = read(path)
    assert not warned
    return rows


def offset_of(head: bytes, records: list[bytes], number: int) -> int:
    return len(head) + sum(map(len, records[:number]))


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 199), st.integers(0, 15))
def test_a_flipped_bit_of_a_record_s_length_or_type_costs_only_the_record(
    tmp_path_factory: pytest.TempPathFactory, seed: int, number: int, bit: int
) -> None:
    path = tmp_path_factory.mktemp("dbn") / "x.dbn"
    head, records = recorded(seed, 200)
    expected = read_records(path, head, records[:number] + records[number + 1 :])
    damaged = bytearray(records[number])
    damaged[bit // 8] ^= 1 << bit % 8
    path.write_bytes(head + b"".join([*records[:number], damaged, *records[number + 1 :]]))
    rows, warned = read(path)
    assert rows == expected
    if damaged[:2] == b"\x0e\x20":
        return  # the order has become a bar, which is skipped
    (warning,) = warned
    assert warning.startswith("1 damaged ranges are skipped; ")
    assert f"'{path}', byte {offset_of(head, records, number)}: a record of " in warning


def in_three(good: list[bool], number: int) -> bool:
    """True if the record is one of three consecutive good ones."""
    return any(all(good[first : first + 3]) for first in range(max(0, number - 2), min(number, len(good) - 3) + 1))


@settings(deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 2**32), min_size=1, max_size=8, unique=True))
def test_flipped_bits_anywhere_cost_only_their_records(
    tmp_path_factory: pytest.TempPathFactory, seed: int, places: list[int]
) -> None:
    path = tmp_path_factory.mktemp("dbn") / "x.dbn"
    head, records = recorded(seed, 200)
    data = bytearray(b"".join(records))
    for place in places:
        data[place // 8 % len(data)] ^= 1 << place % 8
    begins = [offset_of(b"", records, number) for number in range(len(records))]
    good = [data[begin : begin + len(record)] == record for record, begin in zip(records, begins)]
    whole = [record for number, record in enumerate(records) if in_three(good, number)]
    expected = read_records(path, head, whole)
    path.write_bytes(head + data)
    try:
        rows, _ = read(path)
    except millpond.DamagedFile as error:  # the last record
        assert re.search(r"'.*x\.dbn', byte \d+: the file ends after \d+ bytes of a record", str(error))
        return
    assert not expected - rows


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_a_flipped_bit_of_the_metadata_is_refused_or_costs_no_row(
    tmp_path_factory: pytest.TempPathFactory, place: int
) -> None:
    path = tmp_path_factory.mktemp("dbn") / "x.dbn"
    head, records = recorded(1, 50)
    expected = read_records(path, head, records)
    data = bytearray(head)
    data[place // 8 % len(data)] ^= 1 << place % 8
    path.write_bytes(bytes(data) + b"".join(records))
    try:
        rows, warned = read(path)
    except millpond.DamagedFile as error:
        assert "x.dbn" in str(error)
    else:
        assert rows == expected or warned or int.from_bytes(data[4:8], "little") > len(head) - 8


def test_a_damaged_range_over_the_border_of_two_chunks_costs_only_its_records(tmp_path: Path) -> None:
    path = tmp_path / "x.dbn"
    head, records = recorded(1, 70_000)
    at, end = 55_000, 65_000
    assert offset_of(head, records, at) < 4 << 20 < offset_of(head, records, end)
    size = sum(map(len, records[at:end]))
    expected = read_records(path, head, records[:at] + records[end:])
    for filling in (b"\0", b"\xff", b"\x14\x02", b"8=FIX"):
        path.write_bytes(head + b"".join([*records[:at], (filling * size)[:size], *records[end:]]))
        rows, warned = read(path)
        assert rows == expected
        (warning,) = warned
        assert f"'{path}', byte {offset_of(head, records, at)}: a record of " in warning


def test_a_file_that_ends_within_a_record_gives_the_others_first(tmp_path: Path) -> None:
    path = tmp_path / "x.dbn"
    head, records = recorded(1, 100)
    expected = read_records(path, head, records[:99])
    path.write_bytes(head + b"".join(records)[:-1])
    rows = Counter[tuple[str, tuple[object, ...]]]()
    message = f"byte {offset_of(head, records, 99)}: the file ends after {len(records[99]) - 1} bytes of a record"
    with pytest.raises(millpond.DamagedFile, match=message):
        for table, part in millpond.from_dbn(path, prices="nanos"):
            rows.update((table, row) for row in part.tolist())
    assert rows == expected


def test_records_with_their_time_of_sending_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.dbn"
    head, records = recorded(1, 1_000)
    expected = read_records(path, head, records)
    head, _ = recorded(1, 0, ts_out=True)
    sent = [bytes([record[0] + 2]) + record[1:] + TIME.to_bytes(8, "little") for record in records]
    assert read_records(path, head, sent) == expected
    decoder = databento.DBNDecoder()
    decoder.write(path.read_bytes())
    assert sum(getattr(record, "ts_out", 0) == TIME for record in decoder.decode()[1:]) == len(records)
