"""Damaged FIX logs: the damage is named, and every other message is kept with its own time and line."""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import millpond
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from millpond import fix
from test_fix import SOH, generated, message, raw

BEGIN = 1_795_284_723_000_000_000  # 2026-11-21 18:12:03 UTC


def line_of(number: int, data: bytes, session: str = "FIX.4.4:HOUSE->CLIENT") -> bytes:
    """A line of a raw log; the nanoseconds of its time are its number."""
    return f"20261121-18:12:03.{number:09} < {session} ".encode() + raw(data).split(b" ", 3)[3]


def with_length(data: bytes, length: int) -> bytes:
    return re.sub(rb"\x019=[0-9]+", b"\x019=%d" % length, data, count=1)


def rows_of(scanned: fix.FixScan) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", millpond.MillpondWarning)
        table = scanned.to_arrow()
    table.validate(full=True)
    return table.to_pylist()


def check_that_only_this_is_missing(scanned: fix.FixScan, count: int, number: int, at: int) -> None:
    rows = sorted(rows_of(scanned), key=lambda row: row["seq_num"])
    assert [row["seq_num"] for row in rows] == [each for each in range(1, count + 1) if each != number]
    assert [row["line"] for row in rows] == [row["seq_num"] for row in rows]
    assert [row["ts"].value for row in rows] == [BEGIN + row["seq_num"] for row in rows]
    assert scanned.report.counts["messages"] == count - 1 and scanned.report.counts["faulty"] == 1
    assert scanned.report.errors[0].startswith(f"'{scanned.path}', line {number} at byte {at}: ")


@pytest.mark.parametrize("length", [1, 300, 9_999, 99_999, 999_999, 99_999_999])
@pytest.mark.parametrize("number", [10, 199, 200])
def test_a_wrong_body_length_costs_only_its_message(tmp_path: Path, number: int, length: int) -> None:
    messages = [message("D", each, (58, "x" * 100)) for each in range(1, 201)]
    messages[number - 1] = with_length(messages[number - 1], length)
    lines = [line_of(each, data) for each, data in enumerate(messages, 1)]
    path = tmp_path / "raw.log"
    path.write_bytes(b"".join(lines))
    check_that_only_this_is_missing(fix.scan(path), 200, number, sum(map(len, lines[: number - 1])))


def test_a_body_length_that_ends_where_the_next_message_does_costs_only_its_message(tmp_path: Path) -> None:
    messages = [message("D", each, (58, "x" * 100)) for each in range(1, 10)]
    body = len(messages[4]) - len(b"8=FIX.4.4\x019=146\x01") - len(b"10=000\x01")
    messages[4] = with_length(messages[4], body + len(messages[5]))
    lines = [line_of(each, data) for each, data in enumerate(messages, 1)]
    path = tmp_path / "raw.log"
    path.write_bytes(b"".join(lines))
    check_that_only_this_is_missing(fix.scan(path), 9, 5, sum(map(len, lines[:4])))


def test_messages_that_wait_behind_a_damaged_one_survive_a_loss_of_the_log(tmp_path: Path) -> None:
    messages = [message("D", each) for each in range(1, 7)]
    messages[1] = with_length(messages[1], 90_000)
    lines = [line_of(each, data) for each, data in enumerate(messages, 1)]
    path = tmp_path / "raw.log"
    path.write_bytes(b"".join([*lines[:4], b"# lost: 3 pieces, 615 bytes\n", *lines[4:]]))
    scanned = fix.scan(path)
    rows = rows_of(scanned)
    assert [(row["seq_num"], row["line"]) for row in rows] == [(1, 1), (3, 3), (4, 4), (5, 6), (6, 7)]
    assert scanned.report.counts["remarks"] == 1
    (error,) = scanned.report.errors
    assert error.startswith(f"'{path}', line 2 at byte {len(lines[0])}: ")


def test_a_message_inside_a_field_of_a_damaged_one_is_not_read(tmp_path: Path) -> None:
    inner = message("8", 77)
    outer = message("n", 2, (212, str(len(inner))), (213, inner.decode()))
    path = tmp_path / "raw.log"
    for wrong in (with_length(outer, 20), outer.replace(b"HOUSE", b"MOUSE", 1)):
        path.write_bytes(b"".join(map(raw, [message("D", 1), outer, wrong, message("D", 3)])))
        assert [row["seq_num"] for row in rows_of(fix.scan(path))] == [1, 2, 3]


def test_a_line_of_another_log_keeps_what_follows_a_damaged_message(tmp_path: Path) -> None:
    messages = [message("D", 1), with_length(message("D", 2), 5_000), message("D", 3)]
    path = tmp_path / "other.log"
    path.write_text(" and ".join(each.decode().replace(SOH, "|") for each in messages) + "\n")
    scanned = fix.scan(path)
    assert [row["seq_num"] for row in rows_of(scanned)] == [1, 3]
    assert scanned.report.errors[0].startswith(f"'{path}', line 1 at byte 0: ")


def test_many_sessions_with_messages_without_an_end_are_counted(tmp_path: Path) -> None:
    """More sessions than the reader keeps incomplete messages of."""
    half = message("D", 1)[:30]
    path = tmp_path / "raw.log"
    lines = [line_of(each, half, f"FIX.4.4:A->{each}") for each in range(12_000)]
    path.write_bytes(b"".join([*lines, raw(message("D", 2))]))
    scanned = fix.scan(path)
    assert [row["seq_num"] for row in rows_of(scanned)] == [2]
    assert scanned.report.counts["faulty"] == 12_000
    ends = [error.rpartition(": ")[2] for error in scanned.report.errors]
    assert ends == ["too many messages without an end"] * 100


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**32), st.integers(1, 10), st.booleans())
def test_flipped_bits_cost_only_the_messages_of_their_lines(
    tmp_path_factory: pytest.TempPathFactory, seed: int, flips: int, pieces: bool
) -> None:
    random_ = random.Random(seed)
    messages = generated(300, seed)
    stream = b"".join(messages)
    ends = [sum(map(len, messages[: each + 1])) for each in range(len(messages))]
    cuts = sorted({0, len(stream), *(random_.sample(range(len(stream)), 400) if pieces else ends)})
    lines = [line_of(each, stream[a:b]) for each, (a, b) in enumerate(zip(cuts, cuts[1:]), 1)]
    damaged: Counter[int] = Counter()  # number of flips by line
    for _ in range(flips):
        each = random_.randrange(len(lines))
        line = bytearray(lines[each])
        line[random_.randrange(len(line))] ^= 1 << random_.randrange(8)
        lines[each] = bytes(line)
        damaged[each] += 1
        if not line.endswith(b"\n"):
            damaged[each + 1] += 1  # its start has become the end of this one
    path = tmp_path_factory.mktemp("fix") / "raw.log"
    path.write_bytes(b"".join(lines))
    flips_of = dict.fromkeys(range(1, len(messages) + 1), 0)
    for each, found in damaged.items():
        for number, (data, end) in enumerate(zip(messages, ends), 1):
            if each < len(lines) and cuts[each] < end and end - len(data) < cuts[each + 1]:
                flips_of[number] += found
    whole = {number for number, found in flips_of.items() if found == 0}
    sums_are_right = max(flips_of.values()) < 2  # the sum of a message with two flips may be right
    scanned = fix.scan(path, tags=[55, 58], groups=[269, 270])
    rows = rows_of(scanned)
    plain = path.with_name("plain.log")
    plain.write_bytes(b"".join(map(raw, messages)))
    columns = ("msg_type", "seq_num", "sending_time", "55", "58", "269", "270")
    right = rows_of(fix.scan(plain, tags=[55, 58], groups=[269, 270]))
    expected = {row["seq_num"]: [row[column] for column in columns] for row in right}
    numbers = [row["seq_num"] for row in rows]
    assert whole <= set(numbers)
    if sums_are_right:
        assert len(numbers) == len(set(numbers))
        for row in rows:
            assert row["masked"] or [row[column] for column in columns] == expected[row["seq_num"]]
            if row["seq_num"] in whole:
                number = next(each for each, cut in enumerate(cuts) if cut >= ends[row["seq_num"] - 1])
                assert row["ts"] is None or row["ts"].value == BEGIN + number
    report = scanned.report
    assert report.counts["messages"] == len(rows)
    assert report.counts["faulty"] > 0 or len(rows) == len(messages)
    assert all(re.match(rf"'{re.escape(str(path))}', line \d+ at byte \d+: ", error) for error in report.errors)
