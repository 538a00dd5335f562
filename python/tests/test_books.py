"""The books that `millpond book` prints equal those of independent packages."""

from __future__ import annotations

import datetime
import json
import random
import re
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import itch_book
import numpy as np
import pytest
from itch_file import framed, made_up_day

DATE = datetime.date(2020, 1, 30)
COMPLETE, INCOMPLETE = 0, 4

Side = list[tuple[int, int, list[tuple[int, int]]]]
"""Levels, the best one first: price in 1/10000, size, and its orders by priority as (id, size)."""
Book = tuple[Side, Side]


def ours(program: str, path: Path, symbol: str, nanos: int | None = None) -> tuple[int, dict[str, Any], Book]:
    """Exit code, output and book of `millpond book` at a time of the day."""
    at = [] if nanos is None else ["--at", text_of(nanos)]
    run = subprocess.run(
        [program, "book", path, "--symbol", symbol, "--depth", "65536", "--orders", "--json", *at],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.returncode in (COMPLETE, INCOMPLETE), run.stderr
    found = json.loads(run.stdout, parse_float=Decimal)
    for level in (*found["bids"], *found["asks"]):
        assert level["count"] == len(level["orders"])
    bids, asks = (
        [
            (int(level["price"] * 10_000), level["size"], [(order["order_id"], order["size"]) for order in level["orders"]])
            for level in found[side]
        ]
        for side in ("bids", "asks")
    )
    return run.returncode, found, (bids, asks)


def text_of(nanos: int) -> str:
    seconds, rest = divmod(nanos, 10**9)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:09}"


def messages_of(data: bytes) -> list[bytes]:
    messages, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from(">H", data, at)
        messages.append(data[at + 2 : at + 2 + length])
        at += 2 + length
    return messages


def time_of(message: bytes) -> int:
    return int.from_bytes(message[5:11], "big")


def itch_books(path: Path, symbol: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tables of itch-book: changes of depth with their times, and changes of orders."""
    feed = itch_book.open(str(path), date=DATE, price_type="fixed")
    parts = list(feed.batches(tables=("depth", "messages"), depth=50, symbols=(symbol,)))
    tables = []
    for table in ("depth", "messages"):
        batches = [getattr(part, table) for part in parts]
        tables.append({column: np.concatenate([batch[column] for batch in batches]) for column in batches[0]})
    midnight = itch_book.midnight_ns(DATE)
    for found in tables:
        found["time"] = found["ts_event"].astype(np.int64) - midnight
    return tables[0], tables[1]


def levels_of_itch_book(depth: dict[str, Any], nanos: int) -> tuple[list[tuple[int, int, int]], ...]:
    """The levels of its depth table at a time: price, size and number of orders, at most 50 of a side."""
    row = int(np.searchsorted(depth["time"], nanos, "right")) - 1
    sides = []
    for side in ("bid", "ask"):
        levels = []
        for place in range(50):
            price, size, count = (int(depth[f"{side}_{what}_{place:02}"][row]) for what in ("px", "sz", "ct"))
            if row >= 0 and size != 0:
                levels.append((price, size, count))
        sides.append(levels)
    return tuple(sides)


def queues_of_itch_book(orders: dict[str, Any], nanos: int) -> Book:
    """The book that the rows of its messages table make, up to a time."""
    live: dict[int, tuple[bytes, int]] = {}
    levels: dict[tuple[bytes, int], dict[int, int]] = defaultdict(dict)

    def remove(order: int) -> None:
        if place := live.pop(order, None):
            del levels[place][order]

    for row in range(int(np.searchsorted(orders["time"], nanos, "right"))):
        action, side = orders["action"][row], orders["side"][row]
        order, left = int(orders["order_id"][row]), int(orders["remaining"][row])
        if side == b"N":
            continue
        if action == b"M":
            remove(int(orders["old_order_id"][row]))
        if action in (b"A", b"M"):
            remove(order)
            if left:
                live[order] = (side, int(orders["price"][row]))
                levels[live[order]][order] = left
        elif left == 0:
            remove(order)
        else:
            levels[live[order]][order] = left
    return book_of(levels, b"B", b"S")


def book_of(levels: dict[Any, dict[int, int]], bid: object, ask: object) -> Book:
    """The book of levels by side and price, of which each has the sizes of its orders by priority."""
    bids, asks = (
        [
            (price, sum(levels[side, price].values()), list(levels[side, price].items()))
            for price in sorted((price for of, price in levels if of == side and levels[of, price]), reverse=side == bid)
        ]
        for side in (bid, ask)
    )
    return bids, asks


def books_of_meatpy(path: Path, symbol: str, times: list[int]) -> Iterator[Book]:
    """meatpy's books at ascending times."""
    meatpy = pytest.importorskip("meatpy")
    itch50 = pytest.importorskip("meatpy.itch50")
    lob = pytest.importorskip("meatpy.lob")
    assert meatpy
    processor = itch50.ITCH50MarketProcessor(symbol, datetime.datetime(DATE.year, DATE.month, DATE.day))

    def book() -> Book:
        now = processor.current_lob
        sides = [] if now is None else [now.bid_levels, now.ask_levels]
        bids, asks = (
            [
                (level.price, sum(order.volume for order in level.queue), [(order.order_id, order.volume) for order in level.queue])
                for level in side
            ]
            for side in sides or [[], []]
        )  # fmt: skip
        return bids, asks

    due = list(times)
    for message in itch50.ITCH50MessageReader().read_file(path):
        while due and message.timestamp > due[0]:
            due.pop(0)
            yield book()
        if message.type not in b"AFECXDU":  # trading states do not change its book
            continue
        try:
            processor.process_message(message)
        except lob.ExecutionPriorityExceptionList:
            pass  # the execution is applied
    for _ in due:
        yield book()


def assert_books_are_equal(program: str, path: Path, symbol: str, times: list[int], meatpy: bool = True) -> int:
    """Returns the number of orders that were compared."""
    depth, orders = itch_books(path, symbol)
    others = list(books_of_meatpy(path, symbol, times)) if meatpy else []
    compared = 0
    for number, nanos in enumerate(times):
        code, found, book = ours(program, path, symbol, nanos)
        assert (code, found["incomplete"]) == (COMPLETE, False)
        totals = tuple([(price, size, len(queue)) for price, size, queue in side[:50]] for side in book)
        assert totals == levels_of_itch_book(depth, nanos)
        assert book == queues_of_itch_book(orders, nanos)
        if others:
            assert book == others[number]
        compared += sum(len(queue) for side in book for _, _, queue in side)
    return compared


def times_of(path: Path, count: int) -> list[int]:
    """Times of messages, evenly distributed, of which the last one is before the end."""
    times = sorted(time_of(message) for message in messages_of(path.read_bytes()))
    return [times[len(times) * step // (count + 1)] for step in range(1, count + 1)]


def test_books_of_a_made_up_day_equal_those_of_itch_book_and_meatpy(program: str, tmp_path: Path) -> None:
    path = tmp_path / "day.itch"
    path.write_bytes(with_directory(made_up_day(60_000, 3, seed=11)[0]))
    for symbol in ("S0", "S2"):
        assert assert_books_are_equal(program, path, symbol, times_of(path, 7)) > 100


def test_books_of_a_generated_day_equal_those_of_itch_book_and_meatpy(program: str, tmp_path: Path) -> None:
    path = tmp_path / "day.itch"
    subprocess.run(
        [program, "generate", "--out", path, "--format", "itch", "--symbols", "20", "--count", "50000", "--quiet"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    stock = next(message[24:32] for message in messages_of(path.read_bytes()) if message[:1] == b"A")
    assert assert_books_are_equal(program, path, stock.decode().rstrip(), times_of(path, 5)) > 0


def test_books_of_a_real_file_equal_those_of_itch_book_and_meatpy(program: str, data: Path) -> None:
    path = data / "aapl_20200130_first10k.itch"
    assert assert_books_are_equal(program, path, "AAPL", times_of(path, 9)) > 1_000


def with_directory(data: bytes) -> bytes:
    """Adds the directory of the day's stocks, from which itch-book knows their names."""
    stocks = {message[1:3]: message[24:32] for message in messages_of(data) if message[:1] == b"A"}
    return framed(*(b"R" + locate + bytes(8) + stock + bytes(20) for locate, stock in stocks.items())) + data


def mutated(data: bytes, seed: int) -> bytes:
    """The day with a few messages that are lost, repeated, swapped, or have another size or price."""
    random_ = random.Random(seed)
    messages = messages_of(data)
    first = next(place for place, message in enumerate(messages) if message[:1] != b"R")
    for _ in range(random_.randrange(1, 4)):
        place = random_.randrange(first, len(messages) - 1)
        what = random_.randrange(5)
        if what == 0:
            del messages[place]
        elif what == 1:
            messages.insert(place, messages[place])
        elif what == 2:
            messages[place], messages[place + 1] = messages[place + 1], messages[place]
        elif messages[place][:1] == b"A":
            at = 20 if what == 3 else 32  # shares, price
            number = random_.randrange(1, 2_000_000)
            messages[place] = messages[place][:at] + struct.pack(">I", number) + messages[place][at + 4 :]
        elif messages[place][:1] == b"E":
            messages[place] = messages[place][:19] + struct.pack(">I", random_.randrange(1, 500)) + messages[place][23:]
    return framed(*messages)


def test_a_book_of_mutated_messages_is_equal_or_says_that_it_is_not(program: str, tmp_path: Path) -> None:
    day = with_directory(made_up_day(4_000, 2, seed=5)[0])
    outcomes, read = {COMPLETE: 0, INCOMPLETE: 0}, 0
    for seed in range(60):
        path = tmp_path / "mutated.itch"
        path.write_bytes(mutated(day, seed))
        code, found, book = ours(program, path, "S1")
        assert found["incomplete"] == (code == INCOMPLETE) == ("fault" in found)
        outcomes[code] += 1
        if code == COMPLETE:
            _, orders = itch_books(path, "S1")
            assert book == queues_of_itch_book(orders, 2**62), seed
            try:
                (other,) = books_of_meatpy(path, "S1", [2**62])
            except Exception:  # meatpy refuses some files
                continue
            assert book == other, seed
            read += 1
    assert min(outcomes.values()) > 5 and read > 5, (outcomes, read)


def test_a_capture_with_both_lines_of_a_feed_needs_one_of_their_addresses(program: str, tmp_path: Path) -> None:
    one, both = tmp_path / "one.pcap", tmp_path / "both.pcap"
    generate = [program, "generate", "--out", one, "--format", "itch", "--symbols", "2", "--count", "500", "--quiet"]
    subprocess.run(generate, check=True, stdout=subprocess.DEVNULL)
    data = one.read_bytes()
    out, at = [data[:24]], 24
    port = 24 + 16 + (14 if data[20:24] == b"\1\0\0\0" else 0) + 20 + 2  # of the first datagram
    first = int.from_bytes(data[port : port + 2], "big")
    while at < len(data):
        stop = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        place = at + port - 24
        out += [data[at:stop], data[at:place], (first + 1).to_bytes(2, "big"), data[place + 2 : stop]]
        at = stop
    both.write_bytes(b"".join(out))

    def book(path: Path, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, "book", path, "--symbol", "AAPL", *more], capture_output=True, text=True)

    refused = book(both)
    assert refused.returncode == 2 and "choose with --only ADDRESS:PORT" in refused.stderr
    address = re.findall(r"[0-9.]+:\d+", refused.stderr)
    assert [int(each.split(":")[1]) for each in address] == [first, first + 1]
    for each in address:
        assert book(both, "--only", each).stdout == book(one).stdout != ""
