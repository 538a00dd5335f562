"""Rings in Python, written by this process or another one."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading

import millpond
import numpy as np
import pytest
from millpond._ring_writer import RingWriter


def writer_of(name: str, capacity: int = 1024) -> RingWriter:
    writer = RingWriter(name, capacity)
    writer.name(0, "AAPL")
    writer.name(1, "MSFT")
    return writer


def read(ring: millpond.Ring, max_rows: int = 65536) -> millpond.Batch:
    return next(ring.batches(max_rows, timeout=0))


def test_every_event_arrives_in_its_table(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    writer.quote(0, 1_892_400, 1_892_600, sequence=7, channel=2)
    writer.trade(1, 4_000_000, 50, 4711)
    writer.trade_break(1, 4711)
    writer.status(0, 2, "T1")
    writer.gap(2, 10, 12)
    writer.clear(1)
    batch = read(ring)
    assert len(batch) == 6 and batch.missed == 0 and batch.writer_alive
    quote = batch.quotes[0]
    assert (quote["bid_px_00"], quote["ask_px_00"]) == (189.24, 189.26)
    assert (quote["bid_sz_00"], quote["ask_sz_00"], quote["sequence"], quote["channel"]) == (100, 101, 7, 2)
    assert quote["ts_event"] == np.datetime64(1_700_000_000_000_000_007, "ns")
    assert quote["ts_recv"] == np.datetime64(1_700_000_000_000_001_007, "ns")
    assert ring.symbols_of(batch.trades).tolist() == ["MSFT"]
    assert (batch.trades[0]["price"], batch.trades[0]["size"], batch.trades[0]["trade_id"]) == (400.0, 50, 4711)
    assert np.isnat(batch.trades[0]["ts_event"])
    assert batch.breaks["trade_id"].tolist() == [4711]
    assert batch.statuses["state"].tolist() == [millpond.TradingState.HALTED]
    assert batch.statuses["reason"].tolist() == [b"T1"]
    assert batch.gaps[["channel", "first", "last"]].tolist() == [(2, 10, 12)]
    assert batch.clears[["channel", "instrument_id"]].tolist() == [(1, millpond.NO_INSTRUMENT)]
    numbers = [batch.quotes, batch.trades, batch.breaks, batch.statuses, batch.gaps, batch.clears]
    assert [int(rows["number"][0]) for rows in numbers] == [1, 2, 3, 4, 5, 6]


def test_integer_prices_are_exact_and_have_columns_of_their_own(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name, prices="nanos")
    writer.quote(0, 1_892_400, 1_892_600)
    writer.quote(0, 0, 1_892_600, size=0)
    quotes = read(ring).quotes
    assert quotes["bid_px_00_nanos"].tolist() == [189_240_000_000, millpond.UNDEF_PRICE]
    assert "bid_px_00" not in quotes.dtype.names


def test_a_side_without_a_quote_has_no_price(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    writer.quote(0, 1, 2, size=0)
    assert np.isnan(read(ring).quotes["bid_px_00"][0])


def test_arrays_outlive_the_ring(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    writer.flood(0, 100)
    quotes = read(ring).quotes
    writer.flood(0, 1024)
    del ring, writer
    assert quotes["bid_px_00"].tolist() == list(range(1, 101))


def test_batches_follow_the_board_without_hole_or_overlap(ring_name: str) -> None:
    writer = writer_of(ring_name)
    writer.quote(0, 10_000, 20_000)
    writer.status(1, 2, "H")
    ring = millpond.Ring(ring_name)
    writer.quote(0, 30_000, 40_000)
    board = ring.board()
    writer.quote(0, 50_000, 60_000)
    assert board["symbol"].tolist() == ["AAPL", "MSFT"]
    assert board["venue"].tolist() == ["XNAS", "XNAS"]
    assert board["bid_px_00"][0] == 3.0 and np.isnan(board["bid_px_00"][1])
    assert board["state"].tolist() == [millpond.TradingState.UNKNOWN, millpond.TradingState.HALTED]
    assert read(ring).quotes["bid_px_00"].tolist() == [5.0]


def test_reading_the_board_between_batches_loses_no_rows(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    assert len(read(ring)) == 0
    writer.quote(0, 10_000, 20_000)
    assert ring.board()["bid_px_00"].tolist() == [1.0]
    assert read(ring).quotes["bid_px_00"].tolist() == [1.0]


@pytest.mark.parametrize("late", [False, True])
def test_the_board_shows_gaps_and_clears(ring_name: str, late: bool) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    if late:
        read(ring)
    writer.quote(0, 10_000, 20_000, channel=1)
    writer.quote(1, 10_000, 20_000, channel=2)
    writer.gap(1, 1, 1)
    writer.clear(2)
    board = ring.board()
    assert board["flags"].tolist() == [millpond.Flag.INCOMPLETE]
    assert board["symbol"].tolist() == ["AAPL"]


def test_symbols_are_filtered_and_channel_events_are_not(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name, symbols=["MSFT", "GOOG"])
    writer.quote(0, 1, 2)
    writer.quote(1, 10_000, 20_000)
    writer.name(2, "GOOG")
    writer.quote(2, 30_000, 40_000)
    writer.gap(0, 1, 2)
    batch = read(ring)
    assert ring.symbols_of(batch.quotes).tolist() == ["MSFT", "GOOG"]
    assert len(batch.gaps) == 1
    assert ring.board()["symbol"].tolist() == ["MSFT", "GOOG"]


@pytest.mark.parametrize("board_first", [False, True])
def test_the_account_of_a_filtered_reader_counts_its_rows(ring_name: str, board_first: bool) -> None:
    writer = writer_of(ring_name)
    writer.quote(0, 1, 2)
    ring = millpond.Ring(ring_name, symbols=["MSFT"])
    if board_first:
        ring.board()
    rows = 0
    for step in range(3):  # also over several batches
        writer.quote(0, 1, 2)
        writer.quote(1, 10_000, 20_000)
        writer.trade(0, 1, 2, 3)
        writer.gap(0, 1, 2)
        rows += len(read(ring))
    writer.quote(1, 30_000, 40_000)
    account = ring.account
    assert rows == account["delivered"] == 6
    assert (account["filtered"], account["missed"], account["queued"], account["published"]) == (6, 0, 1, 13)


def test_a_filtered_reader_that_is_lapped_accounts_for_every_event(ring_name: str) -> None:
    writer = writer_of(ring_name, capacity=64)
    ring = millpond.Ring(ring_name, symbols=["MSFT"])
    for _ in range(50):
        writer.flood(0, 3)
        writer.quote(1, 10_000, 20_000)
    batch = read(ring)
    account = ring.account
    assert len(batch.quotes) == account["delivered"] > 0
    assert batch.missed == account["missed"] > 0
    assert account["delivered"] + account["filtered"] + account["missed"] == account["published"] == 200
    assert account["queued"] == 0


def test_events_of_other_symbols_do_not_hide_ready_rows(ring_name: str) -> None:
    writer = writer_of(ring_name, capacity=65536)
    ring = millpond.Ring(ring_name, symbols=["MSFT"])
    writer.flood(0, 20_000)
    writer.quote(1, 10_000, 20_000)
    writer.flood(0, 20_000)
    writer.quote(1, 30_000, 40_000)
    assert read(ring, 1).quotes["bid_px_00"].tolist() == [1.0]
    assert read(ring).quotes["bid_px_00"].tolist() == [3.0]
    assert len(read(ring)) == 0


def test_a_lapped_reader_gets_the_range_that_it_missed(ring_name: str) -> None:
    writer = writer_of(ring_name, capacity=64)
    ring = millpond.Ring(ring_name)
    writer.flood(0, 200)
    batch = read(ring)
    assert len(batch.quotes) + batch.missed == 200
    assert batch.missed == int((batch.lost["last"] - batch.lost["first"] + 1).sum()) > 0
    assert batch.quotes["bid_px_00"].tolist() == list(range(batch.missed + 1, 201))
    account = ring.account
    assert account["published"] == account["delivered"] + account["filtered"] + account["missed"] + account["queued"]
    assert account["missed"] == batch.missed


def test_max_rows_bounds_a_batch(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    writer.flood(0, 25)
    assert [len(read(ring, 10)) for _ in range(4)] == [10, 10, 5, 0]


def test_a_timeout_is_an_empty_batch(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    batch = next(ring.batches(timeout=0.01))
    assert len(batch) == 0 and batch.missed == 0
    writer.quote(0, 1, 2)
    assert len(read(ring)) == 1


def test_a_closed_ring_raises_after_its_rows(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    writer.flood(0, 3)
    writer.close()
    batches = ring.batches(max_rows=2)
    assert [len(next(batches)), len(next(batches))] == [2, 1]
    with pytest.raises(millpond.RingClosed) as caught:
        next(batches)
    assert caught.value.reason == "closed"
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), millpond.RingClosed)


WRITER = """
import sys, os
from millpond._ring_writer import RingWriter
writer = RingWriter(sys.argv[1], int(sys.argv[2]))
writer.name(0, "AAPL"); writer.name(1, "MSFT")
writer.quote(0, 10000, 20000)
print("ready", flush=True)
sys.stdin.readline()
writer.quote(0, 30000, 40000)
os._exit(9)
"""


def dying_writer(name: str, capacity: int = 1024) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, name, str(capacity)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_a_dead_writer_is_reported_after_its_last_rows(ring_name: str) -> None:
    process = dying_writer(ring_name)
    ring = millpond.Ring(ring_name, silent_after=0.001)
    assert ring.has_writer and ring.writer_pid == process.pid
    process.communicate("go\n")
    assert read(ring).quotes["bid_px_00"].tolist() == [3.0]
    batch = next(batch for batch in ring.batches(timeout=0.01) if batch.writer != "alive")
    assert batch.writer in ("dead", "silent") and not batch.writer_alive
    dead = next(batch for batch in ring.batches(timeout=0.01) if batch.writer == "dead")
    assert len(dead) == 0
    assert not ring.has_writer


def test_a_dead_writer_ends_a_wait_without_a_timeout(ring_name: str) -> None:
    process = dying_writer(ring_name)
    ring = millpond.Ring(ring_name, silent_after=0.001)
    seen: list[millpond.Batch] = []

    def wait() -> None:
        for batch in ring.batches(timeout=None):
            seen.append(batch)
            if batch.writer == "dead":
                return

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    process.communicate("go\n")
    waiting.join(60)
    assert seen[-1].writer == "dead"
    assert sum(len(batch.quotes) for batch in seen) == 1
    writer = writer_of(ring_name)  # continues the ring
    with pytest.raises(millpond.RingRestarted):
        while True:
            read(ring)
    writer.quote(0, 50_000, 60_000)
    assert read(ring).quotes["bid_px_00"].tolist() == [5.0]


def test_a_new_writer_of_the_ring_raises_restarted_after_the_rows(ring_name: str) -> None:
    process = dying_writer(ring_name)
    ring = millpond.Ring(ring_name)
    process.communicate("go\n")
    writer = writer_of(ring_name)
    batch = read(ring)
    assert batch.quotes["bid_px_00"].tolist() == [3.0]
    assert len(batch.clears) > 0
    with pytest.raises(millpond.RingRestarted):
        read(ring)
    writer.quote(0, 50_000, 60_000)
    assert read(ring).quotes["bid_px_00"].tolist() == [5.0]


def test_a_superseded_ring_raises_after_its_rows(ring_name: str) -> None:
    process = dying_writer(ring_name)
    ring = millpond.Ring(ring_name)
    process.communicate("go\n")
    writer = writer_of(ring_name, capacity=2048)
    assert read(ring).quotes["bid_px_00"].tolist() == [3.0]
    with pytest.raises(millpond.RingSuperseded):
        read(ring)
    again = millpond.Ring(ring_name)
    writer.quote(0, 70_000, 80_000)
    assert read(again).quotes["bid_px_00"].tolist() == [7.0]


def test_the_error_for_a_missing_ring_names_it(ring_name: str) -> None:
    with pytest.raises(millpond.RingError, match=ring_name) as caught:
        millpond.Ring(ring_name)
    assert caught.value.reason == "not_found"


def test_errors_of_arguments_name_the_value_and_the_bound(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    with pytest.raises(ValueError, match="found 0, must be 1"):
        ring.batches(max_rows=0)
    with pytest.raises(ValueError, match="found -1"):
        ring.batches(timeout=-1)
    with pytest.raises(ValueError, match="nan"):
        ring.batches(timeout=float("nan"))
    with pytest.raises(ValueError, match="int32"):
        millpond.Ring(ring_name, prices="int32")
    with pytest.raises(ValueError, match='"int64" was 1/10000; use "nanos"'):
        millpond.Ring(ring_name, prices="int64")
    with pytest.raises(TypeError, match="AAPL"):
        millpond.Ring(ring_name, symbols="AAPL")
    with pytest.raises(ValueError, match="letters"):
        millpond.Ring("../etc")
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(ring)
    writer.close()


def test_each_thread_with_its_own_ring_gets_all_rows(ring_name: str) -> None:
    writer = writer_of(ring_name, capacity=65536)
    rings = [millpond.Ring(ring_name) for _ in range(4)]
    sums = [0, 0, 0, 0]

    def count(which: int) -> None:
        for batch in rings[which].batches(timeout=None):
            sums[which] += int(batch.quotes["bid_px_00"].sum()) + batch.missed
            if sums[which] >= 20_000 * 20_001 // 2:
                return

    threads = [threading.Thread(target=count, args=(which,)) for which in range(4)]
    for thread in threads:
        thread.start()
    writer.flood(0, 20_000)
    for thread in threads:
        thread.join()
    assert sums == [20_000 * 20_001 // 2] * 4


def test_a_second_thread_in_one_ring_is_refused(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    waiting = threading.Thread(target=lambda: next(ring.batches(timeout=None)))
    waiting.start()
    refused = False
    while not refused:
        try:
            _ = ring.account
        except RuntimeError as error:
            refused = "another thread" in str(error)
    writer.quote(0, 1, 2)
    waiting.join()
    assert ring.account["delivered"] == 1


def test_async_for_reads_and_a_cancelled_wait_loses_nothing(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)

    async def run() -> list[float]:
        batches = ring.batches(timeout=None)
        waiting = asyncio.ensure_future(batches.__anext__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        writer.quote(0, 10_000, 0)
        seen: list[float] = []
        async for batch in batches:
            seen += batch.quotes["bid_px_00"].tolist()
            if len(seen) == 3:
                return seen
            writer.quote(0, 10_000 * (len(seen) + 1), 0)
        return seen

    assert asyncio.run(run()) == [1.0, 2.0, 3.0]


ASYNC_WAIT = """
import asyncio, sys, millpond

async def wait():
    print("waiting", flush=True)
    async for batch in reader.batches(timeout=None):
        pass

reader = millpond.Ring(sys.argv[1]) if sys.argv[2] == "ring" else millpond.connect(sys.argv[1])
asyncio.run(wait())
"""


@pytest.mark.parametrize("kind", ["ring", "connection"])
def test_ctrl_c_ends_an_asynchronous_wait(ring_name: str, kind: str) -> None:
    writer = writer_of(ring_name)
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = ring_name if kind == "ring" else f"tcp://127.0.0.1:{server.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-c", ASYNC_WAIT, place, kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        try:
            assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
        finally:
            process.kill()
    writer.close()


ASYNC_START = """
import asyncio, sys, threading, millpond

plain_wait = threading.Event.wait

def interrupted_wait(event, timeout=None):  # the one in which the start of a thread waits for it
    threading.Event.wait = plain_wait
    plain_wait(event, timeout)
    raise KeyboardInterrupt

async def wait():
    threading.Event.wait = interrupted_wait
    async for batch in ring.batches(timeout=None):
        pass

async def stop_in_read():
    waiting = asyncio.ensure_future(ring.batches(timeout=None).__anext__())
    await asyncio.sleep(0)
    ring._reads._background.run(ring._reads._newest)

ring = millpond.Ring(sys.argv[1])
try:
    asyncio.run(wait())
except KeyboardInterrupt:
    print("interrupted", len(next(ring.batches(timeout=0))), flush=True)
asyncio.run(stop_in_read())
"""


def test_an_interrupt_while_the_thread_starts_does_not_hang_the_exit(ring_name: str) -> None:
    writer = writer_of(ring_name)
    done = subprocess.run([sys.executable, "-c", ASYNC_START, ring_name], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted 0\n", "")
    writer.close()


def test_a_closed_loop_loses_no_rows(ring_name: str, capfd: pytest.CaptureFixture[str]) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # tasks are left pending
    waiting = loop.create_task(ring.batches(timeout=None).__anext__())
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    writer.quote(0, 10_000, 0)
    waiting.get_coro().close()  # type: ignore[union-attr]
    del waiting
    assert next(ring.batches(timeout=None)).quotes["bid_px_00"].tolist() == [1.0]
    assert capfd.readouterr() == ("", "")


def test_a_forked_process_starts_its_own_thread(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)

    async def one() -> float:
        return float((await ring.batches(timeout=None).__anext__()).quotes["bid_px_00"][0])

    writer.quote(0, 10_000, 0)
    assert asyncio.run(one()) == 1.0
    writer.quote(0, 20_000, 0)
    child = multiprocessing.get_context("fork").Process(target=lambda: os._exit(int(asyncio.run(one()))))
    child.start()
    child.join(60)
    assert child.exitcode == 2
    assert asyncio.run(one()) == 2.0


@pytest.mark.parametrize("then", ["async", "plain", "other async", "other plain"])
def test_the_batch_of_a_cancelled_task_is_returned_next(ring_name: str, then: str) -> None:
    """In another event loop and another iteration too."""
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)
    batches = ring.batches(timeout=None)
    later = ring.batches(timeout=None) if then.startswith("other") else batches

    async def cancelled_behind_the_read() -> None:
        waiting = asyncio.ensure_future(batches.__anext__())
        writer.quote(0, 10_000, 0)
        await asyncio.sleep(0)  # now the task waits
        assert ring._reads._newest is not None
        ring._reads._newest.ended.wait()  # the loop does not run, so the task gets no result
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    async def one() -> millpond.Batch:
        return await later.__anext__()

    asyncio.run(cancelled_behind_the_read())
    batch = asyncio.run(one()) if then.endswith("async") else next(later)
    assert batch.quotes["bid_px_00"].tolist() == [1.0]


def test_a_second_task_that_waits_for_the_same_batch_is_refused(ring_name: str) -> None:
    writer = writer_of(ring_name)
    batches = millpond.Ring(ring_name).batches(timeout=None)

    async def both() -> list[object]:
        tasks = [asyncio.ensure_future(batches.__anext__()) for _ in range(2)]
        await asyncio.sleep(0)
        writer.quote(0, 10_000, 0)
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    first, second = asyncio.run(both())
    assert isinstance(first, millpond.Batch) and len(first.quotes) == 1
    assert isinstance(second, RuntimeError) and "another task" in str(second)


def test_a_dead_writer_ends_an_asynchronous_wait_once(ring_name: str) -> None:
    process = dying_writer(ring_name)
    ring = millpond.Ring(ring_name, silent_after=0.001)
    process.communicate("go\n")

    async def read_to_the_death() -> list[millpond.Batch]:
        seen: list[millpond.Batch] = []
        async for batch in ring.batches(timeout=None):
            seen.append(batch)
            if batch.writer == "dead":
                return seen
        return seen

    batches = asyncio.run(read_to_the_death())
    assert sum(len(batch.quotes) for batch in batches) == 1
    assert len(next(ring.batches(timeout=0.01))) == 0


def test_ctrl_c_ends_a_wait(ring_name: str) -> None:
    writer = writer_of(ring_name)
    ring = millpond.Ring(ring_name)

    def interrupt() -> None:
        while True:  # until the main thread waits
            try:
                _ = ring.account
            except RuntimeError:
                os.kill(os.getpid(), signal.SIGINT)
                return

    with pytest.raises(KeyboardInterrupt):
        threading.Thread(target=interrupt).start()
        for _ in ring.batches(timeout=None):
            pass
    writer.quote(0, 10_000, 0)
    assert len(read(ring)) == 1


def _count_in_child(ring: millpond.Ring | None, name: str, results: multiprocessing.SimpleQueue) -> None:  # type: ignore[type-arg]
    ring = ring or millpond.Ring(name)
    results.put("open")
    total = 0
    for batch in ring.batches(timeout=None):
        total += len(batch.quotes)
        if total == 10:
            break
    results.put(total)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_child_processes_read(ring_name: str, method: str) -> None:
    writer = writer_of(ring_name)
    context = multiprocessing.get_context(method)
    ring = millpond.Ring(ring_name) if method == "fork" else None
    results = context.SimpleQueue()
    child = context.Process(target=_count_in_child, args=(ring, ring_name, results))
    child.start()
    assert results.get() == "open"
    writer.flood(0, 10)
    assert results.get() == 10
    child.join()
    if ring is not None:
        assert len(read(ring).quotes) == 10


def test_opening_leaks_neither_memory_nor_descriptors(ring_name: str) -> None:
    writer = writer_of(ring_name)

    def rss() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def open_many(count: int) -> None:
        for _ in range(count):
            ring = millpond.Ring(ring_name)
            ring.board()
            writer.quote(0, 1, 2)
            assert len(read(ring)) == 1

    open_many(200)
    before, descriptors = rss(), len(os.listdir("/proc/self/fd"))
    open_many(10_000)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert rss() - before < 8 << 20


def test_the_levels_of_the_board_come_with_the_first_batch_and_later_ones_follow(ring_name: str) -> None:
    writer = RingWriter(ring_name, 1024, depth=3)
    writer.name(0, "AAPL")
    writer.clear(0)
    writer.level(0, 1, 100, 5, 0)
    writer.level(0, 2, 102, 7, 128)
    ring = millpond.Ring(ring_name)
    ring.board()
    writer.level(0, 1, 101, 6, 128)
    book = millpond.Book(depth=3)
    book.apply(read(ring))
    assert (book.complete, book.bids().tolist(), book.asks().tolist()) == (
        True,
        [(0.0101, 6, 1), (0.01, 5, 1)],
        [(0.0102, 7, 1)],
    )
