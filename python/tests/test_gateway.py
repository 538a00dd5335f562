"""Live data from a real gateway."""

from __future__ import annotations

import subprocess

import millpond
from conftest import Gateway


def test_a_gateway_s_quotes_arrive_without_loss(program: str, ring_name: str) -> None:
    gateway = Gateway(program, ring_name)
    try:
        ring = millpond.Ring(ring_name)
        port = gateway.feed_port
        sender = subprocess.Popen(
            [program, "generate", "--to", f"127.0.0.1:{port}", "--count", "2000", "--rate", "20000", "--quiet"],
            stdout=subprocess.DEVNULL,
        )
        rows = missed = gaps = 0
        for batch in ring.batches(timeout=0.5):
            rows, missed, gaps = rows + len(batch.quotes), missed + batch.missed, gaps + len(batch.gaps)
            assert set(ring.symbols_of(batch.quotes)) <= set(ring.symbols)
            if rows >= 2000 or (len(batch) == 0 and sender.poll() is not None):
                break
        assert (rows, missed, gaps) == (2000, 0, 0)
        assert len(ring.board()) == len(ring.symbols) == 100
        sender.wait()
    finally:
        gateway.close()
    seen = []
    try:
        for batch in ring.batches(timeout=0):
            seen.append(len(batch))
    except millpond.RingClosed:
        seen.append(-1)
    assert seen[-1] == -1
