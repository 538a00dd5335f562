"""Hand-written ITCH messages, and an independent reader of BBOs."""

from __future__ import annotations

import random
import struct
from collections import defaultdict


def framed(*messages: bytes) -> bytes:
    return b"".join(struct.pack(">H", len(message)) + message for message in messages)


def _head(kind: bytes, locate: int, nanos: int) -> bytes:
    return kind + struct.pack(">HH", locate, 0) + nanos.to_bytes(6, "big")


def add(locate: int, nanos: int, order: int, side: str, shares: int, stock: str, price: int) -> bytes:
    return _head(b"A", locate, nanos) + struct.pack(
        ">QcI8sI", order, side.encode(), shares, stock.ljust(8).encode(), price
    )


def delete(locate: int, nanos: int, order: int) -> bytes:
    return _head(b"D", locate, nanos) + struct.pack(">Q", order)


def execute(locate: int, nanos: int, order: int, shares: int, match: int) -> bytes:
    return _head(b"E", locate, nanos) + struct.pack(">QIQ", order, shares, match)


def broken(locate: int, nanos: int, match: int) -> bytes:
    return _head(b"B", locate, nanos) + struct.pack(">Q", match)


def replace(locate: int, nanos: int, order: int, new: int, shares: int, price: int) -> bytes:
    return _head(b"U", locate, nanos) + struct.pack(">QQII", order, new, shares, price)


def made_up_day(messages: int, stocks: int, seed: int = 1) -> tuple[bytes, list[tuple[int, str, int, int, int, int]]]:
    """The bytes of a day, and the quotes that a plain dictionary of orders gives: (message, stock, bid, ask, sizes)."""
    random_ = random.Random(seed)
    orders: dict[int, tuple[int, str, int, int]] = {}
    levels: dict[int, dict[str, dict[int, int]]] = defaultdict(lambda: {"B": defaultdict(int), "S": defaultdict(int)})
    out, expected = [], []
    top: dict[int, tuple[int, int, int, int]] = {}
    alive: list[int] = []
    next_order, nanos = 1, 34_200_000_000_000

    def change(locate: int, side: str, price: int, shares: int) -> None:
        level = levels[locate][side]
        level[price] += shares
        if level[price] == 0:
            del level[price]

    for number in range(1, messages + 1):
        nanos += random_.randrange(1, 1_000_000)
        what = random_.random()
        if what < 0.5 or not orders:
            locate = random_.randrange(stocks)
            side = random_.choice("BS")
            price = 1_000_000 + (random_.randrange(0, 50) * 100) * (1 if side == "S" else -1)
            shares = random_.randrange(1, 500)
            orders[next_order] = (locate, side, price, shares)
            alive.append(next_order)
            change(locate, side, price, shares)
            out.append(add(locate, nanos, next_order, side, shares, f"S{locate}", price))
            next_order += 1
        else:
            at = random_.randrange(max(0, len(alive) - 50), len(alive))
            order = alive[at]
            locate, side, price, shares = orders[order]
            if what < 0.7:
                del orders[order], alive[at]
                change(locate, side, price, -shares)
                out.append(delete(locate, nanos, order))
            elif what < 0.85:
                reduced = random_.randrange(1, shares + 1)
                change(locate, side, price, -reduced)
                orders[order] = (locate, side, price, shares - reduced)
                if reduced == shares:
                    del orders[order], alive[at]
                out.append(execute(locate, nanos, order, reduced, number))
            else:
                change(locate, side, price, -shares)
                del orders[order]
                alive[at] = next_order
                price, shares = price + random_.choice((-100, 100)), random_.randrange(1, 500)
                change(locate, side, price, shares)
                orders[next_order] = (locate, side, price, shares)
                out.append(replace(locate, nanos, order, next_order, shares, price))
                next_order += 1
        book = levels[locate]
        bid, ask = max(book["B"], default=0), min(book["S"], default=0)
        now = (bid, ask, book["B"].get(bid, 0), book["S"].get(ask, 0))
        if top.get(locate, (0, 0, 0, 0)) != now:
            top[locate] = now
            expected.append((number, f"S{locate}", *now))
    return framed(*out), expected
