"""Order books, against the golden ones and against a plain dictionary of orders."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import itch_file
import millpond
import numpy as np
import pytest
from millpond.lines import LineReader

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "books.jsonl"
TABLES = {"order": "orders", "level": "levels", "quote": "quotes", "trade": "trades", "clear": "clears", "gap": "gaps"}


def batch_of_event(kind: str, fields: list[Any], number: int) -> millpond.Batch:
    """One golden event as a batch of one row."""
    if kind == "missed":
        lost = np.zeros(1, millpond.dtypes("nanos")["lost"])
        lost["first"], lost["last"] = fields
        return millpond.Batch(lost=lost, missed=fields[1] - fields[0] + 1)
    rows = np.zeros(1, millpond.dtypes("nanos")[TABLES[kind]])
    rows["number"] = number
    if kind == "clear":
        rows["instrument_id"] = millpond.NO_INSTRUMENT
    if kind in ("quote", "trade", "clear"):
        rows["flags"] = fields[0]
    if kind == "level":
        side, price, size, count, flags = fields
        rows[["price_nanos", "size", "count", "flags"]] = (int(price), size, count, flags)
        rows["side"] = millpond.Side[side.upper()]
    if kind == "order":
        action, side, order_id, price, size, left, flags = fields
        sizes = [min(each, 2**63 - 1) for each in (size, left)]
        rows[["order_id", "price_nanos", "size", "size_left", "flags"]] = (int(order_id), int(price), *sizes, flags)
        rows["side"], rows["action"] = millpond.Side[side.upper()], millpond.OrderAction[action.upper()]
    return millpond.Batch(**{TABLES[kind]: rows})


def shown(book: millpond.Book) -> dict[str, Any]:
    def ladder(levels: Any, orders: Any) -> list[Any]:
        queues = [
            [[str(order["order_id"]), int(order["size"])] for order in orders[orders["price_nanos"] == price]]
            for price in levels["price_nanos"]
        ]
        return [[str(p), int(s), int(c), q] for (p, s, c), q in zip(levels.tolist(), queues, strict=True)]

    faults = {name: count for name, count in book.faults.items() if count}
    faults.pop("missed", None)  # each batch with a loss counts at least once
    bids, asks = ladder(book.bids(), book.bid_orders()), ladder(book.asks(), book.ask_orders())
    return {"complete": book.complete, "live": book.live_orders, "bids": bids, "asks": asks, "faults": faults}


def test_a_book_equals_the_golden_one_after_each_group_also_when_something_is_wrong_or_lost() -> None:
    book = millpond.Book(0, prices="nanos")
    groups = 0
    for number, text in enumerate(GOLDEN.read_text().splitlines(), 1):
        ((kind, fields),) = json.loads(text).items()
        if kind == "book":
            book = millpond.Book(0, prices="nanos", **fields)
            status = np.zeros(1, millpond.dtypes("nanos")["statuses"])
            book.apply(millpond.Batch(statuses=status))  # names the channel
        elif kind == "is":
            fields["faults"].pop("missed", None)
            assert shown(book) == fields, f"line {number}"
            groups += 1
        else:
            book.apply(batch_of_event(kind, fields, number))
    assert groups > 300


def test_all_golden_events_of_a_book_in_one_batch_give_the_same_book() -> None:
    lines = [json.loads(text) for text in GOLDEN.read_text().splitlines()]
    begins = [index for index, line in enumerate(lines) if "book" in line] + [len(lines)]
    for begin, end in zip(begins, begins[1:], strict=False):
        events = [next(iter(line.items())) for line in lines[begin + 1 : end]]
        if any(kind == "missed" for kind, _ in events):
            continue
        parts = [batch_of_event(kind, fields, n) for n, (kind, fields) in enumerate(events) if kind != "is"]
        tables = {
            name: np.concatenate([np.empty(0, dtype), *(getattr(part, name) for part in parts if len(getattr(part, name)))])
            for name, dtype in millpond.dtypes("nanos").items()
        }
        book = millpond.Book(0, prices="nanos", **lines[begin]["book"])
        book.apply(millpond.Batch(statuses=np.zeros(1, millpond.dtypes("nanos")["statuses"])))
        book.apply(millpond.Batch(**tables))
        assert shown(book) == lines[end - 1]["is"]


def oracle_of(day: bytes, stock: int, until: int) -> tuple[dict[int, tuple[str, int, int]], list[list[list[int]]]]:
    """Live orders and ladders of a stock before a time, by the specification's offsets."""
    orders: dict[int, tuple[str, int, int]] = {}
    at = 0
    while at < len(day):
        length = struct.unpack_from(">H", day, at)[0]
        message = day[at + 2 : at + 2 + length]
        at += 2 + length
        kind, locate = message[:1], struct.unpack_from(">H", message, 1)[0]
        if int.from_bytes(message[5:11], "big") >= until:
            break
        if locate != stock or kind not in b"AFEXDUC":
            continue
        number = struct.unpack_from(">Q", message, 11)[0]
        if kind in b"AF":
            side, shares = message[19:20].decode(), struct.unpack_from(">I", message, 20)[0]
            orders[number] = (side, struct.unpack_from(">I", message, 32)[0], shares)
        elif kind in b"EXC":
            side, price, shares = orders[number]
            left = shares - struct.unpack_from(">I", message, 19)[0]
            orders[number] = (side, price, left)
            if left == 0:
                del orders[number]
        elif kind == b"D":
            del orders[number]
        else:
            new, shares, price = struct.unpack_from(">QII", message, 19)
            orders[new] = (orders.pop(number)[0], price, shares)
    ladders = []
    for wanted in "BS":
        levels: dict[int, list[int]] = {}
        for side, price, shares in orders.values():
            if side == wanted:
                level = levels.setdefault(price, [0, 0])
                level[0] += shares
                level[1] += 1
        ladders.append([[price, *levels[price]] for price in sorted(levels, reverse=wanted == "B")])
    return orders, ladders


@pytest.mark.parametrize("orders", [0, 100_000])
@pytest.mark.parametrize("prices", ["nanos", "float64"])
def test_a_replayed_itch_file_gives_the_books_of_its_messages_at_each_time(
    tmp_path: Path, orders: int, prices: str
) -> None:
    day, _ = itch_file.made_up_day(8_000, 3)
    path = tmp_path / "day.itch"
    path.write_bytes(day)
    scan = millpond.scan(path, symbols=["S1"], depth=5, orders=orders > 0, prices=prices)
    first = scan.levels.to_numpy()["ts_event"]
    times = list(first[:: len(first) // 7]) + [np.datetime64("1970-01-02T00:00:00", "ns")]

    def price(scaled: int) -> float:
        return scaled * 100_000 if prices == "nanos" else scaled / 10_000

    for max_rows in (700, 65536):
        book = millpond.Book(depth=5, levels=4096 if orders else 64, orders=orders, prices=prices)
        seen = []
        for time in book.replay(scan.batches(max_rows), times):
            live, ladders = oracle_of(day, 1, int(time.astype(np.int64)))
            for levels, expected in zip((book.bids(), book.asks()), ladders, strict=True):
                assert [list(row) for row in levels.tolist()] == [[price(p), s, c] for p, s, c in expected[:5]]
            assert book.live_orders == (len(live) if orders else 0)
            assert book.complete or time == times[0]
            seen.append(time)
        assert seen == times


def test_rows_of_other_instruments_are_refused_or_with_an_id_ignored() -> None:
    rows = np.zeros(2, millpond.dtypes()["levels"])
    rows["number"], rows["instrument_id"], rows["side"] = [1, 2], [3, 4], 1
    rows["size"], rows["price"], rows["flags"] = [10, 20], [1.5, 2.5], 128
    with pytest.raises(ValueError, match="instruments 3 and 4"):
        millpond.Book().apply(millpond.Batch(levels=rows))
    book = millpond.Book(4)
    book.apply(millpond.Batch(levels=rows))
    assert book.bids().tolist() == [(2.5, 20, 0)]
    assert (book.instrument_id, book.complete) == (4, False)
    with pytest.raises(ValueError, match="no column 'price_nanos'"):
        millpond.Book(prices="nanos").apply(millpond.Batch(levels=rows))
    rows["price"] = 3e6
    with pytest.raises(ValueError, match="3000000"):
        book.apply(millpond.Batch(levels=rows))


def test_a_book_in_a_batch_with_a_loss_is_incomplete_until_a_later_snapshot() -> None:
    snapshot = np.zeros(2, millpond.dtypes()["levels"])
    snapshot["number"], snapshot["side"], snapshot["size"], snapshot["price"] = [1, 2], [0, 1], [0, 5], [0, 1]
    snapshot["flags"], snapshot["ts_recv"] = [32, 32 + 128], np.array([1, 1], "M8[ns]")
    later = snapshot.copy()
    later["ts_recv"] = np.array([9, 9], "M8[ns]")
    book = millpond.Book()
    book.apply(millpond.Batch(levels=snapshot))
    assert book.complete
    lost = np.zeros(1, millpond.dtypes()["lost"])
    book.apply(millpond.Batch(levels=snapshot, lost=lost, missed=1))
    assert not book.complete
    for _ in book.replay([millpond.Batch(levels=np.concatenate([snapshot, later]), lost=lost, missed=1)], [5]):
        assert not book.complete
    book.apply(millpond.Batch(levels=snapshot))
    assert book.complete


def test_a_clear_of_a_channel_completes_only_books_that_know_their_channel() -> None:
    clear = np.zeros(1, millpond.dtypes()["clears"])
    clear["instrument_id"], clear["channel"] = millpond.NO_INSTRUMENT, 1
    book = millpond.Book(0)
    book.apply(millpond.Batch(clears=clear))
    assert not book.complete
    status = np.zeros(1, millpond.dtypes()["statuses"])
    status["channel"] = 2
    book.apply(millpond.Batch(statuses=status))
    book.apply(millpond.Batch(clears=clear))
    assert not book.complete
    clear["channel"] = 2
    book.apply(millpond.Batch(clears=clear))
    assert book.complete


def test_lines_of_a_gateway_make_a_book() -> None:
    head = '"symbol":"AAPL","channel":3,"timestamp":5,"exchange_timestamp":0'
    lines = [
        f'{{"type":"level",{head},"sequence":1,"side":"none","price":0.0000,"size":0,"count":0,"flags":32}}',
        f'{{"type":"level",{head},"sequence":2,"side":"bid","price":1.5000,"size":300,"count":2,"flags":160}}',
        f'{{"type":"trade",{head},"sequence":3,"price":1.5000,"shares":1,"trade_id":4}}',
        f'{{"type":"order",{head},"sequence":4,"action":"add","side":"ask","order_id":18446744073709551615,"price":2,'
        '"size":9,"size_left":9,"trade_id":0}',
        f'{{"type":"level",{head},"sequence":5,"side":"ask","price":2.0000,"size":9,"count":1,"flags":128}}',
    ]
    reader = LineReader("float64")
    for line in lines:
        reader.add(line.encode())
    batch = reader.finish()
    order = batch.orders[0]
    assert (order["order_id"], order["action"], order["side"], order["price"]) == (2**64 - 1, 1, 2, 2.0)
    book = millpond.Book()
    book.apply(batch)
    expected = (True, [(1.5, 300, 2)], [(2.0, 9, 1)])
    assert (book.complete, book.bids().tolist(), book.asks().tolist()) == expected
    for other, after in ((4, True), (3, False)):
        for line in (
            f'{{"type":"clear","symbol":null,"channel":{other},"timestamp":6,"sequence":6,"reason":"new_session","flags":1}}',
            f'{{"type":"gap","channel":{other},"timestamp":7,"sequence":7,"first":1,"last":2,"reason":"sequence"}}',
        ):
            reader.add(line.encode())
        book.apply(reader.finish())
        assert book.complete == after
        assert (len(book.bids()) == 1) == after


def test_a_loss_of_a_gateways_client_concerns_the_books_that_follow_it_as_snapshots() -> None:
    head = '"symbol":"AAPL","channel":3,"timestamp":5,"exchange_timestamp":0'
    snapshot = [
        f'{{"type":"level",{head},"sequence":1,"side":"none","price":0.0000,"size":0,"count":0,"flags":32}}',
        f'{{"type":"level",{head},"sequence":1,"side":"bid","price":1.5000,"size":300,"count":2,"flags":160}}',
    ]
    own, of_the_ring = '{"type":"missed","count":2}', '{"type":"missed","count":2,"first":2,"last":3}'
    reader = LineReader("float64")
    book = millpond.Book()

    def complete_after(*lines: str) -> list[bool]:
        """After each batch."""
        seen = []
        for line in lines:
            reader.add(line.encode())
            while reader.ended:
                book.apply(reader.finish())
                seen.append(book.complete)
        book.apply(reader.finish())
        return [*seen, book.complete]

    assert complete_after(*snapshot, own) == [True]
    assert complete_after(own, *snapshot) == [True]
    assert complete_after(*snapshot, of_the_ring) == [True, False, False]
    assert complete_after(*snapshot, of_the_ring, *snapshot) == [True, False, True]


def test_wrong_arguments_are_refused_with_their_bound(tmp_path: Path) -> None:
    wrongs = ({"depth": 0}, {"depth": "all"}, {"levels": 9}, {"orders": -1}, {"prices": "x"}, {"instrument_id": -1})
    for wrong in wrongs:
        with pytest.raises(ValueError):
            millpond.Book(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        millpond.Book(depth=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(millpond.Book())
    with pytest.raises(ValueError, match="later"):
        list(millpond.Book().replay([], [2, 1]))
    path = tmp_path / "day.itch"
    path.write_bytes(itch_file.made_up_day(10, 1)[0])
    for depth in (-1, 51, "all"):
        with pytest.raises(ValueError, match="depth"):
            millpond.scan(path, depth=depth)  # type: ignore[arg-type]
