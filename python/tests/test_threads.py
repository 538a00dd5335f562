"""Several threads use one scan: each has its own rows, names, report and warnings."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import millpond
import numpy as np
import polars
import pytest
from itch_file import made_up_day
from millpond import fix
from test_fix import generated, raw

THREADS = 6
ROUNDS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("threads")
    (path / "day_20200130.itch").write_bytes(made_up_day(30_000, 20)[0][:-1])  # the file ends within a message
    (path / "raw.log").write_bytes(b"".join(map(raw, generated(5_000))))
    return path


def in_threads(work: Callable[[int], None]) -> None:
    """Calls work(number) in all threads at once, several times."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        start.wait()
        for _ in range(ROUNDS):
            work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(run, number) for number in range(THREADS)]:
            done.result()


def symbols_of_orders(scan: millpond.Scan) -> object:
    rows = next(scan.orders.batches(1_000))
    return scan.symbols_of(rows).tolist()


def symbols_of_quotes(scan: millpond.Scan) -> object:
    return [scan.symbols_of(rows).tolist() for rows in scan.quotes.batches(3_000)]


READS: dict[str, Callable[[millpond.Scan], object]] = {
    "numpy": lambda scan: scan.to_numpy().tobytes(),
    "arrow": lambda scan: scan.to_arrow(),
    "polars": lambda scan: scan.to_polars()["number"].sum(),
    "polars itself": lambda scan: polars.DataFrame(scan.trades)["number"].sum(),
    "orders": lambda scan: scan.orders.to_arrow(),
    "messages": lambda scan: len(scan.messages["A"].to_numpy()),
    "bars": lambda scan: scan.bars("1s").tobytes(),
    "symbols of quotes": symbols_of_quotes,
    "symbols of orders": symbols_of_orders,
}


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("what", READS)
def test_several_threads_get_the_same_rows_as_one(folder: Path, what: str, mixed: bool) -> None:
    scan = millpond.scan(folder / "day_20200130.itch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", millpond.MillpondWarning)
        expected, beside = READS[what](scan), READS["numpy"](scan)

        def work(number: int) -> None:
            if mixed and number % 2:
                assert READS["numpy"](scan) == beside
            else:
                assert READS[what](scan) == expected

        in_threads(work)


def test_each_thread_has_the_report_of_its_reading(folder: Path) -> None:
    scan = millpond.scan(folder / "day_20200130.itch")

    def work(number: int) -> None:
        if number % 2:
            next(scan.batches(10))
            assert not scan.report.complete and scan.report.ok
        else:
            assert len(scan.to_numpy()) > 0
            assert scan.report.complete and scan.report.error_count == 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", millpond.MillpondWarning)
        in_threads(work)


def test_files_are_written_by_several_threads(folder: Path, tmp_path: Path) -> None:
    scan = millpond.scan(folder / "day_20200130.itch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", millpond.MillpondWarning)
        expected = scan.to_numpy()["number"].tolist()
        in_threads(lambda number: scan.to_parquet(tmp_path / f"{number}.parquet"))
        in_threads(lambda number: scan.to_dbn(tmp_path / f"{number}.dbn"))
    for number in range(THREADS):
        assert polars.read_parquet(tmp_path / f"{number}.parquet")["number"].to_list() == expected
        assert sum(len(rows) for _, rows in millpond.from_dbn(tmp_path / f"{number}.dbn")) == len(expected)


def test_a_thread_that_has_not_read_sees_the_reading_of_another(folder: Path) -> None:
    scan = millpond.scan(folder / "day_20200130.itch")
    rows: SimpleQueue[millpond.batch.Rows | None] = SimpleQueue()

    def read() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", millpond.MillpondWarning)
            for part in scan.quotes.batches(500):
                rows.put(part)
        rows.put(None)

    thread = threading.Thread(target=read)
    thread.start()
    names: list[str] = []
    while (part := rows.get()) is not None:
        names += scan.symbols_of(part).tolist()
        assert 0 < scan.report.counts["messages"] <= 30_000
    thread.join()
    assert scan.report.complete and scan.report.error_count == 1
    with pytest.warns(millpond.MillpondWarning):
        assert names == scan.symbols_of(scan.to_numpy()).tolist()


def test_several_threads_read_one_fix_log(folder: Path) -> None:
    log = fix.scan(folder / "raw.log", tags=[55])
    expected = log.to_arrow()
    counts = log.report.counts

    def work(_: int) -> None:
        assert log.to_arrow() == expected
        assert log.report.counts == counts

    in_threads(work)


def test_symbols_of_rows_of_another_file_are_refused(tmp_path: Path) -> None:
    scans = []
    for seed, name in enumerate(("a", "b")):
        path = tmp_path / f"{name}_20200130.itch"
        path.write_bytes(made_up_day(500, 5, seed)[0])
        scans.append(millpond.scan(path))
    first, second = scans
    rows, others = first.to_numpy(), second.to_numpy()
    again = millpond.scan(first.path)
    quotes, orders = again.to_numpy(), again.orders.to_numpy()
    expected = first.symbols_of(rows).tolist()
    assert again.symbols_of(quotes).tolist() == expected
    assert again.symbols_of(rows).tolist() == expected  # of the same file
    assert again.symbols_of(orders).tolist() == again.orders.to_arrow()["symbol"].to_pylist()
    assert again.symbols_of(quotes).tolist() == expected  # although orders were read last
    for view in (rows, rows[3:], rows[["instrument_id", "number"]], next(first.batches(10)).quotes):
        with pytest.raises(ValueError, match="a_20200130.*, not to .*b_20200130"):
            second.symbols_of(view)
    with pytest.raises(ValueError) as refused:
        second.symbols_of(orders)
    assert str(refused.value) == f"rows: they belong to orders or messages of {first!r}, not to {second!r}"
    with pytest.raises(ValueError, match="b_20200130.*, not to .*a_20200130"):
        first.symbols_of(others)
    with pytest.raises(ValueError, match="was read from"):
        millpond.scan(first.path).symbols_of(rows)
    beyond = rows.copy()
    beyond["instrument_id"] = 1_000
    with pytest.raises(ValueError, match="no instrument with number 1000 was read"):
        first.symbols_of(beyond)
    assert np.array_equal(first.symbols_of(rows.copy()), expected)  # the origin of a copy is unknown
