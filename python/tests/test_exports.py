"""Exported files are complete or absent, also with concurrent writers, and contain the rows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import millpond
import pandas
import polars
import pyarrow.dataset
import pyarrow.parquet
import pytest
from itch_file import add, framed, made_up_day
from millpond.whole_file import whole, whole_folder


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("day") / "day_20200130.itch"
    path.write_bytes(made_up_day(3_000, 5)[0])
    return path


EXPORTS: dict[str, Callable[[millpond.Scan, Path], object]] = {
    "parquet": lambda scan, path: scan.to_parquet(path),
    "partitions": lambda scan, path: scan.to_parquet(path, partition_by="symbol"),
    "orders": lambda scan, path: scan.orders.to_parquet(path),
    "dbn": lambda scan, path: scan.to_dbn(path),
    "hftbacktest": lambda scan, path: scan.to_hftbacktest(path.with_suffix(".npz"), "S1"),
}


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_files_and_folders_beside_an_export_stay(day: Path, tmp_path: Path, export: Callable[..., object]) -> None:
    for name in ("out.part", "out.npz.part", "out.tmp", "out.new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "precious").write_text("ours")
    (tmp_path / "out.1.part").write_text("ours")
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    export(millpond.scan(day), tmp_path / "out")
    assert {path: path.read_text() for path in before} == before
    made = {path.name for path in tmp_path.iterdir()} - {path.relative_to(tmp_path).parts[0] for path in before}
    assert made in ({"out"}, {"out.npz"})


def test_the_last_of_two_exports_to_finish_replaces_the_file_completely(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with whole(path) as first:
        with whole(path) as second:
            assert len({str(path), first, second}) == 3
            Path(first).write_text("first")
            Path(second).write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_of_two_folders_the_second_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with pytest.raises(FileExistsError, match="folder"), whole_folder(path) as first:
        with whole_folder(path) as second:
            (Path(second) / "second").touch()
        (Path(first) / "first").touch()
    assert [each.name for each in path.iterdir()] == ["second"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    for replaced, part in ((whole, "file"), (whole_folder, "folder")):
        with pytest.raises(OSError, match=part), replaced(tmp_path / part):
            (tmp_path / part).mkdir()
        assert (tmp_path / part).is_dir()


def test_a_failed_export_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(RuntimeError), whole(path) as part:
        Path(part).write_text("half")
        raise RuntimeError
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "folder") as part:
        (Path(part) / "file").write_text("half")
        raise RuntimeError
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o077, 0o600)])
def test_a_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        with whole(tmp_path / "file"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_concurrent_exports_to_one_path_leave_a_complete_file(day: Path, tmp_path: Path, export: Callable[..., object]) -> None:
    export(millpond.scan(day), tmp_path / "alone")
    failed: list[BaseException] = []

    def run() -> None:
        try:
            export(millpond.scan(day), tmp_path / "out")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    is_folder = (tmp_path / "out").is_dir()
    assert len(failed) == (3 if is_folder else 0) and all(isinstance(each, FileExistsError) for each in failed)
    (alone,) = tmp_path.glob("alone*")
    (out,) = tmp_path.glob("out*")
    paths = [path for path in alone.rglob("*") if path.is_file()] if is_folder else [alone]
    for path in paths:
        assert path.read_bytes() == (out / path.relative_to(alone) if is_folder else out).read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {alone.name, out.name}


def test_an_export_that_is_terminated_leaves_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(made_up_day(50_000, 5)[0] * 20)
    out = tmp_path / "out"
    arguments = [sys.executable, "-m", "millpond", "export", str(path), str(out), "--table", "quotes"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE) as export:
        while not out.is_dir() or not any(out.iterdir()):
            assert export.poll() is None
        export.terminate()
        assert export.wait() == 128 + signal.SIGTERM
    assert list(out.iterdir()) == []
    subprocess.run(arguments, check=False, capture_output=True)
    assert [each.name for each in out.iterdir()] == ["quotes.parquet"]


NUMBERS = ["0005", "0700", "7", "1E5", "TRUE", "A=B", "A/B", "..", ".A", "_A", "%41", "2020", "nan", "NULL"]
READERS: dict[str, Callable[[Path], list[tuple[str, int]]]] = {
    "pyarrow": lambda path: rows_of(pyarrow.parquet.read_table(path)),
    "pyarrow's hive": lambda path: rows_of(pyarrow.dataset.dataset(path, partitioning="hive").to_table()),
    "pandas": lambda path: rows_of(pyarrow.Table.from_pandas(pandas.read_parquet(path))),
    "polars": lambda path: rows_of(polars.read_parquet(path).to_arrow()),
    "polars' hive": lambda path: rows_of(polars.scan_parquet(path, hive_partitioning=True).collect().to_arrow()),
    "duckdb": lambda path: duckdb.sql(f"select symbol, number from '{path}/**/*.parquet' order by number").fetchall(),
    "duckdb's hive": lambda path: duckdb.sql(
        f"select symbol, number from read_parquet('{path}/**/*.parquet', hive_partitioning=true) order by number"
    ).fetchall(),
}


def rows_of(table: pyarrow.Table) -> list[tuple[str, int]]:
    table = table.sort_by("number")
    return list(zip(table["symbol"].to_pylist(), table["number"].to_pylist(), strict=True))


@pytest.mark.parametrize("columns", ["symbol", ["venue", "symbol"], ["symbol", "channel"]])
@pytest.mark.parametrize("table", ["quotes", "orders", "numeric"])
def test_readers_get_the_symbols_that_went_in(tmp_path: Path, table: str, columns: str | list[str]) -> None:
    path = tmp_path / "day_20200130.itch"
    symbols = ["0005", "0700", "123"] if table == "numeric" else NUMBERS
    path.write_bytes(framed(*(add(n, 1, n, "B", 1, symbol, 10_000) for n, symbol in enumerate(symbols, 1))))
    scan = millpond.scan(path)
    if table == "orders" and "venue" in columns:
        columns = ["symbol", "order_id"]
    (scan.orders if table == "orders" else scan.quotes).to_parquet(tmp_path / "out", partition_by=columns)
    expected = list(zip(symbols, range(1, len(symbols) + 1), strict=True))
    for name, read in READERS.items():
        assert read(tmp_path / "out") == expected, name
    kept = pyarrow.parquet.ParquetFile(next((tmp_path / "out").rglob("*.parquet"))).schema_arrow
    assert kept.field("symbol").type == pyarrow.string() and kept.field("instrument_id").type == pyarrow.uint32()
